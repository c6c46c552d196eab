package bundle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
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

// FuzzLayout reads an OCI layout of any content. The digests of its blobs are filled in.
func FuzzLayout(f *testing.F) {
	const (
		index    = `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"$manifest"}]}`
		nested   = `{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":2,"digest":"$manifest"}]}`
		layer    = `{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":1,"digest":"$blob"}`
		manifest = `{"schemaVersion":2,"config":` + layer + `,"layers":[` + layer
	)
	f.Add([]byte(index), []byte(`{}`), []byte{})
	f.Add([]byte(nested), []byte(`{"manifests":[]}`), []byte{})
	f.Add([]byte(index), []byte(manifest+`]}`), archive(f, bundleFiles))
	f.Add([]byte(index), []byte(manifest+strings.Repeat(","+layer, 9000)+`]}`), []byte{})
	f.Add([]byte(`{`), []byte(`[`), []byte{})
	f.Fuzz(func(t *testing.T, index, manifest, blob []byte) {
		manifest = bytes.ReplaceAll(manifest, []byte("$blob"), []byte(digestOf(blob)))
		index = bytes.ReplaceAll(index, []byte("$manifest"), []byte(digestOf(manifest)))
		if len(index)+len(manifest)+len(blob) > maxInput {
			return
		}
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700))
		for name, text := range map[string][]byte{
			"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index,
			"blobs/" + strings.Replace(digestOf(manifest), ":", "/", 1): manifest,
			"blobs/" + strings.Replace(digestOf(blob), ":", "/", 1):     blob,
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		needs(t, func() { _, _ = Open(t.Context(), dir, Registry{}) })
	})
}

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }
