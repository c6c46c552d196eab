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

	"github.com/google/go-containerregistry/pkg/name"
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
	isPath := strings.HasPrefix(reference, ".") || filepath.IsAbs(reference)
	if !isPath && pinned(reference) {
		return registry.pull(ctx, reference) // never a folder of that name, whose content nothing has verified
	}
	info, err := os.Stat(reference)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is a file: name the folder of a bundle, or an image", reference)
	case err == nil && isLayout(reference):
		return openLayout(reference)
	case err == nil:
		return Inspect(reference)
	case isPath || errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: %w", reference, cause(err))
	default:
		return registry.pull(ctx, reference)
	}
}

// pinned reports whether a reference is an image with a digest.
func pinned(reference string) bool {
	_, err := name.NewDigest(reference)
	return err == nil
}

// isLayout reports whether a folder has an OCI layout. A folder with manifests is a bundle, whatever
// else is in it.
func isLayout(dir string) bool {
	return exists(filepath.Join(dir, "oci-layout")) && !exists(filepath.Join(dir, manifestsFolder))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func openLayout(dir string) (*Bundle, error) {
	if err := plainFiles(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
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

// plainFiles returns an error for a layout with anything but regular files of a bounded size: the
// library reads each whole.
func plainFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no regular file: copy the layout again, without links", path)
		case info.Size() > maxImage:
			return fmt.Errorf("%s has more than %d MiB, and a bundle is a few manifests", path, maxImage>>20)
		default:
			return nil
		}
	})
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
	files := mutate.Extract(&boundedImage{Image: image, left: maxUnpacked})
	defer files.Close()
	b := newBundle(source)
	err := b.unpack(files)
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
		if len(l.URLs) > 0 || !l.MediaType.IsDistributable() {
			return errors.New("is no bundle: its manifest names a layer that is stored outside of its registry; push the image with all layers")
		}
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
