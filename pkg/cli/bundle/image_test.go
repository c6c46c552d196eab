package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func imageOf(t *testing.T, layers ...[]tar.Header) v1.Image {
	t.Helper()
	image := empty.Image
	for _, files := range layers {
		text := archive(t, files)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		must(t, err)
		image = installtest.OrPanic(mutate.AppendLayers(image, layer))
	}
	return image
}

func archive(t testing.TB, files []tar.Header) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, header := range files {
		text := header.PAXRecords["text"]
		header.PAXRecords, header.Size, header.Mode = nil, int64(len(text)), 0o644
		must(t, w.WriteHeader(&header))
		_, err := io.WriteString(w, text)
		must(t, err)
	}
	must(t, w.Close())
	return archive.Bytes()
}

func file(name, text string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, PAXRecords: map[string]string{"text": text}}
}

func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

var bundleFiles = []tar.Header{
	{Typeflag: tar.TypeDir, Name: "manifests/"}, file("manifests/csv.yaml", csvText), file("metadata/annotations.yaml", annotationsText),
}

func TestImages(t *testing.T) {
	for name, c := range map[string]struct {
		image v1.Image
		want  string // the error; empty for none
	}{
		"a bundle":                          {imageOf(t, bundleFiles), ""},
		"names that begin with a dot":       {imageOf(t, []tar.Header{file("./manifests/csv.yaml", csvText)}), ""},
		"a file removed by a layer":         {imageOf(t, []tar.Header{file("manifests/x.yaml", "{")}, bundleFiles, []tar.Header{file("manifests/.wh.x.yaml", "")}), ""},
		"a folder removed by a layer":       {imageOf(t, []tar.Header{file("manifests/x.yaml", "{")}, []tar.Header{file(".wh.manifests", "")}, bundleFiles), ""},
		"a folder replaced by a layer":      {imageOf(t, []tar.Header{file("manifests/x.yaml", "{")}, append([]tar.Header{file("manifests/.wh..wh..opq", "")}, bundleFiles...)), ""},
		"an image replaced by a layer":      {imageOf(t, []tar.Header{file("manifests/x.yaml", "{")}, append([]tar.Header{file(".wh..wh..opq", "")}, bundleFiles...)), ""},
		"a folder that was a file":          {imageOf(t, []tar.Header{file("manifests/x.yaml/y", "{")}, append([]tar.Header{file("manifests/x.yaml", csvText)}, bundleFiles[2])), ""},
		"another folder removed by a layer": {imageOf(t, bundleFiles, []tar.Header{file(".wh.manifest", ""), file("metadat/.wh..wh..opq", "")}), ""},
		"many layers":                       {imageOf(t, slices.Repeat([][]tar.Header{bundleFiles}, maxLayers+1)...), "it has 129 layers"},
		"many files":                        {imageOf(t, folders(maxEntries+1)), "more than 10000 files and folders"},
		"a sparse file":                     {layered(t, archive(t, bundleFiles), sparseArchive(t)), "is a sparse file"},
		"a file twice":                      {imageOf(t, append([]tar.Header{file("manifests/csv.yaml", "{")}, bundleFiles...)), "is twice in one layer"},
		"a whiteout without a name":         {imageOf(t, bundleFiles, []tar.Header{file("manifests/.wh.", "")}), "is no name of a file"},
		"a file at the root":                {imageOf(t, bundleFiles, []tar.Header{file(".", "x")}), "is no name of a file"},
		"a long name":                       {imageOf(t, []tar.Header{file(strings.Repeat("a/", maxInput/4)+"a", "x")}), "a name of 524289 bytes"},
		"a file replaced by a layer":        {imageOf(t, []tar.Header{file("manifests/csv.yaml", "{")}, bundleFiles), ""},
		"no bundle":                         {imageOf(t, []tar.Header{file("bin/sh", "#!")}), "is no bundle"},
		"a path that leads out":             {imageOf(t, bundleFiles, []tar.Header{file("manifests/../../etc/passwd", "x")}), `cannot be unpacked: the name "../etc/passwd" leads out of the image`},
		"a path that leads to the root":     {imageOf(t, bundleFiles, []tar.Header{file("../x", "x")}), `cannot be unpacked: the name "../x" leads out of the image`},
		"a link":                            {imageOf(t, bundleFiles, []tar.Header{link("manifests/b.yaml", "/etc/passwd")}), "manifests/b.yaml: is a link"},
		"a file that is huge unpacked":      {imageOf(t, bundleFiles, []tar.Header{file("manifests/b.yaml", strings.Repeat("#", maxFile+1))}), "has more than 4 MiB"},
		"a manifest that admits to be huge": {sized{imageOf(t, bundleFiles), maxImage + 1}, "its layers have more than 64 MiB"},
		"a manifest with a negative size":   {sized{imageOf(t, bundleFiles), -1}, "its manifest has a layer of -1 bytes"},
		"a manifest whose sizes overflow":   {sized{imageOf(t, bundleFiles, bundleFiles), math.MaxInt64}, "its layers have more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var b *Bundle
			var err error
			needs(t, func() { b, err = InspectImage(t.Context(), c.image, "test") })
			if err == nil {
				err = b.Err()
			}
			installtest.Error(t, c.want, err)
		})
	}
}

func folders(n int) []tar.Header {
	return installtest.Times(n, func(i int) tar.Header {
		return tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("manifests/%d/", i)}
	})
}

// sparseArchive has a file of a few bytes that is read as 8 MiB of zeros.
func sparseArchive(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "manifests/b.yaml", Mode: 0o600, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"XXX.sparse.major": "0", "XXX.sparse.minor": "1", "XXX.sparse.numblocks": "0", "XXX.sparse.realsize": "8388609",
	}}))
	must(t, w.Close())
	return bytes.ReplaceAll(out.Bytes(), []byte("XXX.sparse."), []byte("GNU.sparse.")) // the Writer refuses this name
}

// sized is an image whose manifest reports something else about a layer's size.
type sized struct {
	v1.Image
	size int64
}

func (s sized) Manifest() (*v1.Manifest, error) {
	manifest, err := s.Image.Manifest()
	if err != nil {
		return nil, err
	}
	manifest = manifest.DeepCopy()
	for i := range manifest.Layers {
		manifest.Layers[i].Size = s.size
	}
	return manifest, nil
}

func TestOpen(t *testing.T) {
	image := imageOf(t, bundleFiles)
	digest := installtest.OrPanic(image.Digest())
	repository := serve(t, image, "shop-bundle", "v1")
	one, two, empties := layoutOf(t, image), layoutOf(t, image, image), layoutOf(t)
	twice := layoutOf(t, image)
	entry := installtest.OrPanic(installtest.OrPanic(layout.ImageIndexFromPath(twice)).IndexManifest()).Manifests[0]
	entry.Annotations = map[string]string{"io.containerd.image.name": "docker.io/shop/bundle@" + entry.Digest.String()}
	must(t, layout.Path(twice).AppendDescriptor(entry))
	plainFile := empties + "/file"
	must(t, os.WriteFile(plainFile, nil, 0o600))

	for reference, want := range map[string]string{
		repository + ":v1":                       repository + "@" + digest.String(),
		repository + "@" + digest.String():       repository + "@" + digest.String(),
		one:                                      one + "@sha256:",
		twice:                                    twice + "@sha256:",
		"../../../examples/projectpolicy/bundle": "../../../examples/projectpolicy/bundle",
	} {
		b, err := Open(t.Context(), reference, Registry{PlainHTTP: true})
		if err != nil {
			t.Errorf("%s: %v", reference, err)
			continue
		}
		installtest.Must(t, b.Err())
		installtest.Prefix(t, reference+": the source", want, b.Source)
	}
	for reference, want := range map[string]string{
		repository + ":v2": "there is no such folder here, and as the image " + repository + ":v2 it cannot be pulled",
		two:                "holds 2 images",
		empties:            "holds 0 images",
		plainFile:          "is a file",
		"./nowhere":        "no such file or directory",
		"Not A Reference":  "neither a folder nor the name of an image",
	} {
		_, err := Open(t.Context(), reference, Registry{PlainHTTP: true})
		installtest.Error(t, want, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(cancelled, repository+":v1", Registry{PlainHTTP: true}); err == nil {
		t.Error("pulled after the context ended")
	}
}

func TestChangedLayouts(t *testing.T) {
	image := imageOf(t, bundleFiles)
	for _, what := range []string{"manifest", "layer"} {
		t.Run(what, func(t *testing.T) {
			dir := layoutOf(t, image)
			index := installtest.OrPanic(layout.ImageIndexFromPath(dir))
			manifests := installtest.OrPanic(index.IndexManifest())
			digest := manifests.Manifests[0].Digest
			if what == "layer" {
				stored := installtest.OrPanic(index.Image(digest))
				manifest := installtest.OrPanic(stored.Manifest())
				digest = manifest.Layers[0].Digest
			}
			blob, err := os.OpenFile(filepath.Join(dir, "blobs", digest.Algorithm, digest.Hex), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = blob.WriteString("\n")
			must(t, errors.Join(err, blob.Close()))
			_, err = Open(t.Context(), dir, Registry{})
			installtest.Error(t, "its "+what+" has the digest", err)
		})
	}
}

func serve(t *testing.T, image v1.Image, repository, tag string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return push(t, server, image, repository, tag)
}

func push(t *testing.T, server *httptest.Server, image v1.Image, repository, tag string) string {
	t.Helper()
	repository = server.Listener.Addr().String() + "/" + repository
	reference := installtest.OrPanic(name.ParseReference(repository+":"+tag, name.Insecure))
	must(t, remote.Write(reference, image, remote.WithTransport(server.Client().Transport)))
	return repository
}

func layoutOf(t *testing.T, images ...v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	path := installtest.OrPanic(layout.Write(dir, empty.Index))
	for i, image := range images {
		must(t, path.AppendImage(mutate.Annotations(image, map[string]string{"n": strconv.Itoa(i)}).(v1.Image)))
	}
	return dir
}
