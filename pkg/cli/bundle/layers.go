package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The limits of the archives of an image. To look up whether an upper layer hides a file takes time in
// proportion to the square of the length of its name.
const (
	maxLayers  = 128
	maxEntries = 10000
	maxName    = 1024
)

// The names with which a layer removes files of lower layers, by the image specification of OCI.
const (
	whiteoutPrefix = ".wh."
	opaqueWhiteout = whiteoutPrefix + whiteoutPrefix + ".opq"
)

// unpacker reads the files of an image. It reads upper layers first: they hide files of lower layers.
type unpacker struct {
	*reader
	left    int64 // bytes that may still be unpacked
	entries int
	// hidden are the names that are not read from lower layers; with a slash at the end, all below one.
	hidden map[string]bool
	// removed is what the present layer removes from lower layers, own the names of its files.
	removed, own map[string]bool
}

// unpack refuses names that lead out of the image, and links, which could lead out of it too.
func (r *reader) unpack(ctx context.Context, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	u := unpacker{reader: r, left: maxUnpacked, hidden: map[string]bool{}}
	for _, layer := range slices.Backward(layers) {
		if err := u.readLayer(ctx, layer); err != nil {
			return err
		}
	}
	return nil
}

// readLayer reads a layer to its end: only then is its digest verified.
func (u *unpacker) readLayer(ctx context.Context, layer v1.Layer) error {
	content, err := unpacked(ctx, layer, &u.left)
	if err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer content.Close()
	u.removed, u.own = map[string]bool{}, map[string]bool{}
	archive := tar.NewReader(content)
	header, err := archive.Next()
	for ; err == nil && ctx.Err() == nil; header, err = archive.Next() {
		if err := u.readEntry(header, archive); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		_, err = io.Copy(io.Discard, content)
	}
	if err := errors.Join(ctx.Err(), err); err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	maps.Copy(u.hidden, u.removed)
	return nil
}

func (u *unpacker) readEntry(header *tar.Header, content io.Reader) error {
	u.entries++
	name := strings.TrimPrefix(path.Clean(header.Name), "/")
	if err := u.check(header, name); err != nil {
		return err
	}
	folder, base := path.Split(name)
	switch {
	case base == opaqueWhiteout:
		u.removed[cmp.Or(folder, "/")] = true
	case strings.HasPrefix(base, whiteoutPrefix):
		gone := folder + strings.TrimPrefix(base, whiteoutPrefix)
		u.removed[gone], u.removed[gone+"/"] = true, true
	case u.hides(name):
	case header.Typeflag == tar.TypeDir:
		u.hidden[name] = true
	default:
		u.hidden[name], u.hidden[name+"/"], u.own[name] = true, true, true
		return u.addEntry(header.Typeflag, name, content)
	}
	return nil
}

// check refuses an entry that needs too much, or that programs read in different ways.
func (u *unpacker) check(header *tar.Header, name string) error {
	sparse := func(record string) bool { return strings.HasPrefix(record, "GNU.sparse.") }
	regular := header.Typeflag != tar.TypeDir
	switch {
	case u.entries > maxEntries:
		return fmt.Errorf("is no bundle: its layers have more than %d files and folders, and a bundle is a few manifests", maxEntries)
	case len(header.Name) > maxName:
		return fmt.Errorf("is no bundle: it has a file with a name of %d bytes; the limit is %d", len(header.Name), maxName)
	case name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("cannot be unpacked: the name %q leads out of the image", name)
	case regular && slices.Contains([]string{".", whiteoutPrefix}, path.Base(name)):
		return fmt.Errorf("cannot be unpacked: %q is no name of a file", header.Name)
	case regular && u.own[name]:
		return fmt.Errorf("cannot be unpacked: %q is twice in one layer", name)
	case slices.ContainsFunc(slices.Collect(maps.Keys(header.PAXRecords)), sparse):
		return fmt.Errorf("cannot be unpacked: %q is a sparse file, and a manifest is none", name)
	default:
		return nil
	}
}

// hides reports whether an upper layer, or an earlier entry of the same one, hides a name.
func (u *unpacker) hides(name string) bool {
	if u.hidden[name] || u.hidden["/"] {
		return true
	}
	for n, c := range name {
		if c == '/' && u.hidden[name[:n+1]] {
			return true
		}
	}
	return false
}

// addEntry adds a file. Those at the root of an image are not the bundle's.
func (u *unpacker) addEntry(kind byte, name string, content io.Reader) error {
	switch {
	case !strings.Contains(name, "/"):
		return nil
	case kind != tar.TypeReg:
		u.addProblem(BrokenFile, name, 0, "is a link or a device", "put a plain file in its place")
		return nil
	default:
		return u.addFile(name, func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
	}
}
