package bundle

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func on(image v1.Image, os, architecture string) mutate.IndexAddendum {
	return mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: architecture}}}
}

// An index of one image is as good as that image, wherever it is.
func TestIndexes(t *testing.T) {
	image, other := imageOf(t, bundleFiles), imageOf(t, []tar.Header{file("attestation", "x")})
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	for title, test := range map[string]struct {
		index v1.ImageIndex
		want  []string // in the error; none for a bundle
	}{
		"one image":                   {mutate.AppendManifests(empty.Index, on(image, "linux", "s390x")), nil},
		"one image of no platform":    {mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image}), nil},
		"an image and an attestation": {mutate.AppendManifests(empty.Index, on(other, "unknown", "unknown"), on(image, "linux", "amd64")), nil},
		"images of two platforms":     {mutate.AppendManifests(empty.Index, on(other, "linux", "arm64"), on(image, "linux", "amd64")), nil},
		"images of two others":        {mutate.AppendManifests(empty.Index, on(image, "linux", "s390x"), on(other, "linux", "arm64")), []string{"is an index of 2 images, none of them for linux/amd64", " linux/s390x, sha256:", " linux/arm64)", "name one by its digest"}},
		"attestations alone":          {mutate.AppendManifests(empty.Index, on(other, "unknown", "unknown")), []string{"is an index without an image"}},
		"an index in an index":        {mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: mutate.AppendManifests(empty.Index, on(image, "linux", "amd64"))}), []string{"is an index without an image"}},
	} {
		digest := installtest.OrPanic(test.index.Digest())
		repository := server.Listener.Addr().String() + "/shop"
		reference := installtest.OrPanic(name.ParseReference(repository+"@"+digest.String(), name.Insecure))
		must(t, remote.WriteIndex(reference, test.index, remote.WithTransport(server.Client().Transport)))
		for where, reference := range map[string]string{"a layout": layoutOfIndex(t, test.index), "a registry": reference.String()} {
			t.Run(title+" in "+where, func(t *testing.T) {
				b, err := Open(t.Context(), reference, Registry{PlainHTTP: true})
				if err == nil {
					err = b.Err()
				}
				if (err == nil) != (test.want == nil) {
					t.Fatalf("got %v, want %q", err, test.want)
				}
				for _, part := range append(test.want, digest.String()) {
					if err != nil && !strings.Contains(err.Error(), part) || err == nil && !strings.Contains(b.Source, digest.String()) {
						t.Errorf("%q is in neither %v nor the source", part, err)
					}
				}
			})
		}
	}
}

func TestChangedIndexes(t *testing.T) {
	index := mutate.AppendManifests(empty.Index, on(imageOf(t, bundleFiles), "linux", "amd64"))
	dir := layoutOfIndex(t, index)
	digest := installtest.OrPanic(index.Digest())
	blob := filepath.Join(dir, "blobs", digest.Algorithm, digest.Hex)
	text, err := os.ReadFile(blob)
	must(t, err)
	must(t, os.WriteFile(blob, append(text, '\n'), 0o600))
	_, err = Open(t.Context(), dir, Registry{})
	installtest.Error(t, "its index has the digest", err)
}

// layoutOfIndex is a folder with an OCI layout whose one entry is an index.
func layoutOfIndex(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	dir := t.TempDir()
	path := installtest.OrPanic(layout.Write(dir, empty.Index))
	must(t, path.AppendIndex(index))
	return dir
}
