package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
)

const maxInput = need.MaxInput

func needs(t *testing.T, do func()) {
	t.Helper()
	need.Limited(t, do)
}

// FuzzTexts reads a text as each file that a bundle has: none needs more than a bundle may.
func FuzzTexts(f *testing.F) {
	for _, c := range complexTexts {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {webhookdefinitions: [" + strings.Repeat("{type: a, rules: [{a: b}]},", 500) + "]}\n"))
	f.Add([]byte("dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: 'true'}}},", 500) + "]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxInput {
			return
		}
		for _, name := range []string{"manifests/a.yaml", annotationsFile, "metadata/dependencies.yaml", "metadata/properties.yaml"} {
			needs(t, func() { InspectFS(fstest.MapFS{name: {Data: text}}, "fuzz") })
		}
	})
}

// FuzzLayout reads an OCI layout of any content.
func FuzzLayout(f *testing.F) {
	const digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"`+digest+`"}]}`), []byte(`{}`))
	f.Add([]byte(`{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":2,"digest":"`+digest+`"}]}`), []byte(`{"manifests":[]}`))
	f.Add([]byte(`{`), []byte(`[`))
	f.Fuzz(func(t *testing.T, index, blob []byte) {
		if len(index)+len(blob) > maxInput {
			return
		}
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700))
		for name, text := range map[string][]byte{
			"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index, "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:"): blob,
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		needs(t, func() { _, _ = Open(t.Context(), dir, Registry{}) })
	})
}
