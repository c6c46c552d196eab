package bundle

import (
	"testing"
	"testing/fstest"
)

// FuzzRead reads whatever a file of a bundle may hold. Nothing of it may panic, every
// problem names a line of the file, and what has none can be rendered or says why not.
func FuzzRead(f *testing.F) {
	// Small ones: whole examples would keep the fuzzer busy with their prose.
	for _, text := range []string{csvText, "a: b\n---\n", bomb(), "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "- \"\\u0000\"", "a: *a", "? {a: b}\n: c\n"} {
		f.Add([]byte(text))
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
