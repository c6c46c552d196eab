package bundle

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/klauspost/compress/zstd"
)

// The limits of the layers of an image, compressed and unpacked.
const (
	maxImage    = 64 << 20
	maxUnpacked = 64 << 20
	// maxManifest is the limit of the manifest of an image or of an index, and maxObjects of the JSON objects in
	// it: each layer is decoded into many more bytes than it has.
	maxManifest = 1 << 20
	maxObjects  = 4096
)

// Open reads a folder, an OCI layout or an image, whose digest is in Source. What cannot be read is in Problems.
func Open(ctx context.Context, reference string, registry Registry) (*Bundle, error) {
	reference = strings.TrimRight(reference, "/")
	isPath := strings.HasPrefix(reference, ".") || filepath.IsAbs(reference)
	if _, err := name.NewDigest(reference); err == nil && !isPath {
		return registry.pull(ctx, reference) // never a folder of that name, whose content nothing has verified
	}
	info, err := os.Stat(reference)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is a file: name the folder of a bundle, or an image", reference)
	case err == nil && isLayout(reference):
		return openLayout(ctx, reference)
	case err == nil:
		return inspect(ctx, reference)
	case isPath || errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: %w", reference, cause(err))
	default:
		return registry.pull(ctx, reference)
	}
}

// InspectImage reads the bundle in an image without writing to disk. Messages name it as source.
func InspectImage(ctx context.Context, image v1.Image, source string) (*Bundle, error) {
	if err := checkSize(image); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	r := newReader(ctx, source)
	err := r.unpack(ctx, image)
	if errors.Is(err, errTooBig) {
		return r.Bundle, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	r.readAnnotations()
	return r.read(), ctx.Err()
}

// checkSize checks the sizes in the manifest, before any layer is downloaded.
func checkSize(image v1.Image) error {
	if err := checkManifest(image); err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	if n := len(manifest.Layers); n > maxLayers {
		return fmt.Errorf("is no bundle: it has %d layers, and the limit is %d", n, maxLayers)
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

// checkManifest checks the size of a manifest before it is decoded.
func checkManifest(of partial.WithRawManifest) error {
	text, err := of.RawManifest()
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte("{")); len(text) > maxManifest || n > maxObjects {
		return fmt.Errorf("is no bundle: its manifest has %d bytes and %d objects; the limits are %d and %d", len(text), n, maxManifest, maxObjects)
	}
	return nil
}

// unpacked returns the content of a layer. The limit holds for each byte that a decompressor returns, also
// for files that are skipped and after the end of an archive.
func unpacked(ctx context.Context, layer v1.Layer, left *int64) (io.ReadCloser, error) {
	stored, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	content, err := decompressed(stored)
	if err != nil {
		stored.Close()
		return nil, err
	}
	return &boundedReader{content, stored, left, ctx.Err}, nil
}

// maxWindow limits the memory of a decompressor.
const maxWindow = 8 << 20

// decompressed selects the format by the first bytes: media types may be wrong.
func decompressed(stored io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(stored)
	first, err := buffered.Peek(4)
	switch {
	case err != nil && len(first) == 0 && err != io.EOF:
		return nil, err
	case bytes.HasPrefix(first, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.Equal(first, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	default:
		return buffered, nil
	}
}

var errUnpacked = fmt.Errorf("its layers unpack to more than %d MiB, and a bundle is a few manifests", maxUnpacked>>20)

type boundedReader struct {
	io.Reader
	stored io.Closer
	left   *int64
	ended  func() error // not nil once the command is to end
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	if *r.left <= 0 {
		return 0, errUnpacked
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), *r.left)])
	*r.left -= int64(n)
	return n, err
}

func (r *boundedReader) Close() error {
	if z, ok := r.Reader.(*zstd.Decoder); ok {
		z.Close()
	}
	return r.stored.Close()
}
