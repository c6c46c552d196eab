package bundle

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// FuzzRead reads whatever a file of a bundle may hold. Nothing of it may panic, every
// problem names a line of the file, and what has none can be rendered or says why not.
func FuzzRead(f *testing.F) {
	for _, text := range []string{csvText, "a: b\n---\n", bomb(), "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "- \"\\u0000\"", "a: *a", "? {a: b}\n: c\n"} {
		f.Add([]byte(text))
	}
	seeds, err := filepath.Glob("../../examples/*/bundle*/manifests/*clusterserviceversion.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := InspectFS(fstest.MapFS{"manifests/a.yaml": {Data: text}}, "fuzz")
		for _, p := range b.Problems {
			if p.File == "manifests/a.yaml" && p.Kind != TooBig && p.Line < 1 {
				t.Errorf("%s has no line: %s", p.Kind, p)
			}
		}
		if b.Err() != nil {
			return
		}
		if b.CSV == nil {
			t.Fatal("nothing is wrong, and there is no ClusterServiceVersion")
		}
		manifests, err := Manifests(b, Options{})
		if (err == nil) != (len(manifests) > 0) {
			t.Errorf("%d manifests and %v", len(manifests), err)
		}
	})
}
