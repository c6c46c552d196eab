package bundle

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
)

// boundedImage is an image whose layers together unpack to a bounded size. The limit holds for
// each byte that a decompressor returns, also for files that are skipped and after the end of an
// archive.
type boundedImage struct {
	v1.Image
	left int64
}

func (i *boundedImage) Layers() ([]v1.Layer, error) {
	layers, err := i.Image.Layers()
	for n, l := range layers {
		layers[n] = boundedLayer{l, &i.left}
	}
	return layers, err
}

type boundedLayer struct {
	v1.Layer
	left *int64
}

// Uncompressed is read by one goroutine at a time, layer after layer.
func (l boundedLayer) Uncompressed() (io.ReadCloser, error) {
	stored, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	content, err := decompressed(stored)
	if err != nil {
		stored.Close()
		return nil, err
	}
	return &boundedReader{content, stored, l.left}, nil
}

// maxWindow limits the memory of a decompressor.
const maxWindow = 8 << 20

// decompressed reads a layer by its first bytes: media types may be wrong.
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

// boundedReader ends with errUnpacked when no byte is left.
type boundedReader struct {
	io.Reader
	stored io.Closer
	left   *int64
}

func (r *boundedReader) Read(p []byte) (int, error) {
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
