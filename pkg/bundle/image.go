package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// What the layers of a bundle's image may have at most, as they are stored and unpacked.
const (
	maxImage    = 64 << 20
	maxUnpacked = 256 << 20
)

// Open reads the bundle that a reference names: a folder with a bundle, a folder with an
// OCI layout, or an image in a registry, which is pinned to its digest: Source names it. What
// cannot be read of it is among its Problems.
func Open(ctx context.Context, reference string, registry Registry) (*Bundle, error) {
	reference = strings.TrimRight(reference, "/")
	info, err := os.Stat(reference)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is a file: name the folder of a bundle, or an image", reference)
	case err == nil && isLayout(reference):
		return openLayout(reference)
	case err == nil:
		return Inspect(reference)
	case strings.HasPrefix(reference, ".") || filepath.IsAbs(reference) || errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: %w", reference, cause(err))
	default:
		return registry.pull(ctx, reference)
	}
}

func isLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}

func openLayout(dir string) (*Bundle, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if n := len(manifest.Manifests); n != 1 {
		return nil, fmt.Errorf("%s holds %d images: name a layout with the bundle's alone", dir, n)
	}
	source := dir + "@" + manifest.Manifests[0].Digest.String()
	image, digest, err := imageOfLayout(index, manifest.Manifests[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if err := checkContent(image, digest); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return InspectImage(image, source)
}

// checkContent compares what a layout holds with the digests that it is stored under: the
// library does so for registries alone.
func checkContent(image v1.Image, digest v1.Hash) error {
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	if err := checkDigest("manifest", bytes.NewReader(manifest), digest); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := checkLayer(l); err != nil {
			return err
		}
	}
	return nil
}

func checkLayer(l v1.Layer) error {
	digest, err := l.Digest()
	if err != nil {
		return err
	}
	content, err := l.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	return checkDigest("layer", io.LimitReader(content, maxImage+1), digest)
}

func checkDigest(what string, content io.Reader, want v1.Hash) error {
	got, _, err := v1.SHA256(content)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("its %s has the digest %s, and not %s, under which it is stored: it was changed, or not copied whole; copy the layout again", what, got, want)
	}
	return nil
}

// InspectImage reads the bundle in an image. Source is what messages call it. Nothing of
// the image is written to disk.
func InspectImage(image v1.Image, source string) (*Bundle, error) {
	if err := checkSize(image); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	b := newBundle(source)
	err := b.unpack(io.LimitReader(files, maxUnpacked))
	if errors.Is(err, errTooBig) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	b.readAnnotations()
	return b.read(), nil
}

// checkSize looks at what the manifest says, before any layer is fetched.
func checkSize(image v1.Image) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	var size int64
	for _, l := range manifest.Layers {
		if l.Size < 0 {
			return fmt.Errorf("is no image: its manifest has a layer of %d bytes", l.Size)
		}
		size += min(l.Size, maxImage+1)
	}
	if size > maxImage {
		return fmt.Errorf("is no bundle: its layers have more than %d MiB, and a bundle is a few manifests", maxImage>>20)
	}
	return nil
}

// unpack takes the files of an image, by name. The library refuses names that lead out of
// the image; links, which could, are refused here.
func (b *Bundle) unpack(image io.Reader) error {
	files := tar.NewReader(image)
	header, err := files.Next()
	for ; err == nil; header, err = files.Next() {
		if err := b.takeEntry(header, files); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		// The archive ends well even where the library stopped: it says so after the end.
		_, err = io.Copy(io.Discard, image)
	}
	if err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	return nil
}

func (b *Bundle) takeEntry(header *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(header.Name, "/")
	switch {
	case header.Typeflag == tar.TypeDir || !strings.Contains(name, "/"):
		return nil
	case header.Typeflag != tar.TypeReg:
		b.found(BrokenFile, name, 0, "is a link or a device", "put a plain file in its place")
		return nil
	default:
		return b.take(name, func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
	}
}
