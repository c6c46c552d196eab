package bundle

import (
	"archive/tar"
	"bytes"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// FuzzUnpack reads images of two layers of any bytes. Nothing of it may panic, no file
// may be taken by a name that leads out of the image, nor more than a bundle may hold.
func FuzzUnpack(f *testing.F) {
	for _, entries := range [][]tar.Header{
		bundleFiles,
		{file("../x", "x"), file("manifests/../../x", "x"), file("/manifests/a.yaml", "{")},
		{file("manifests/.wh.csv.yaml", ""), file("metadata/.wh..wh..opq", "")},
		{link("manifests", "/etc"), file("manifests/passwd", "x")},
		{{Typeflag: tar.TypeLink, Name: "manifests/a.yaml", Linkname: "../../etc/passwd"}},
	} {
		f.Add(archive(f, entries), archive(f, bundleFiles))
	}
	f.Add(sparseArchive(f), archive(f, bundleFiles))
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		if len(lower)+len(upper) > maxInput {
			return
		}
		var b *Bundle
		var err error
		needs(t, func() { b, err = InspectImage(t.Context(), layered(t, lower, upper), "fuzz") })
		if err != nil {
			return
		}
		var size int64
		for name, text := range b.files {
			size += int64(len(text))
			if path.Clean(name) != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") || len(text) > maxFile {
				t.Errorf("takes %d bytes as %q", len(text), name)
			}
		}
		if size != b.Size || size > maxSize || len(b.files) > maxFiles {
			t.Errorf("takes %d files of %d bytes, and reports %d", len(b.files), size, b.Size)
		}
	})
}

// FuzzMetadata reads what catalogs are built from, regardless of its text: each problem has a line,
// and none keeps the bundle from being installed.
func FuzzMetadata(f *testing.F) {
	for _, text := range []string{
		"dependencies: [{type: olm.package, value: {packageName: shop, version: '>=1.0.0 <2.0.0'}}]\n",
		"dependencies:\n- type: olm.gvk\n  value: {group: example.com, kind: Shop, version: v1}\n- type: olm.label\n  value: {label: shop}\n",
		"dependencies: [{type: olm.constraint, value: {any: {constraints: [{cel: {rule: 'properties.exists(p, p.type == \"a\")'}}, {not: {constraints: []}}]}}}]\n",
		"dependencies: {\n", "- a\n", "dependencies: [many]\nother: a\n",
	} {
		f.Add(text)
	}
	celEnvironment() // It is created once.
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxInput {
			return
		}
		var b *Bundle
		needs(t, func() { b = InspectFS(files(map[string]string{"metadata/dependencies.yaml": text}), "fuzz") })
		for _, p := range b.Problems {
			if p.Kind != TooBig && p.Line < 1 || p.Kind.Fatal() && p.Kind != TooBig {
				t.Errorf("%s: %s", p.Kind, p)
			}
		}
	})
}

// layered is an image of layers as they are, archives or not.
func layered(t *testing.T, layers ...[]byte) v1.Image {
	t.Helper()
	image := empty.Image
	for _, content := range layers {
		var err error
		if image, err = mutate.AppendLayers(image, static.NewLayer(bytes.Clone(content), types.DockerUncompressedLayer)); err != nil {
			t.Fatal(err)
		}
	}
	return image
}
