package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var complexTexts = map[string]struct {
	text, want string
}{
	"a manifest":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", ""},
	"an alias":               {"a: &a {b: c}\nd: *a\n", ""},
	"aliases of a long text": {"a: &a " + strings.Repeat("A", 20000) + "\nb: [" + strings.Repeat("*a,", 20000) + "]\n", "its aliases (*name) repeat too much of it"},
	"aliases of aliases":     {laughs(9), "its aliases (*name) repeat too much of it"},
	"an alias of itself":     {"a: &a [*a]\n", "an anchor (&name) that contains its own alias"},
	"an alias in its anchor": {"a: &a {b: {c: *a}}\n", "an anchor (&name) that contains its own alias"},
	"merged aliases":         {merges(9), "its aliases (*name) repeat too much of it"},
	"many values":            {"a: [" + strings.Repeat("a,", 200000) + "]\n", "values in"},
	"many empty lists":       {"a: [" + strings.Repeat("[],", 200000) + "]\n", "values in"},
	"many empty lines":       {strings.Repeat("\n", 200000), "values in"},
	"many keys":              {installtest.Numbered(100000, "%x: 1\n"), "values in"},
	"a long text":            {"a: " + strings.Repeat("A", 1<<20) + "\n", ""},
	"many lines":             {strings.Repeat("# comment of a line\n", 50000), ""},
}

// laughs is a text whose aliases grow by nine in each line.
func laughs(lines int) string {
	text := "a0: &a0 laugh\n"
	for i := range lines {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return text
}

func merges(lines int) string {
	text := "a0: &a0 {k: v}\n"
	for i := range lines {
		text += fmt.Sprintf("a%d: &a%d\n", i+1, i+1)
		for j := range 9 {
			text += fmt.Sprintf("  k%d: {<<: *a%d}\n", j, i)
		}
	}
	return text
}

// Each parser of a bundle goes through the same limits.
func TestComplexTexts(t *testing.T) {
	for name, test := range complexTexts {
		t.Run(name, func(t *testing.T) {
			err := yamltext.Check([]byte(test.text))
			installtest.Error(t, test.want, err)
			if err == nil {
				return
			}
			for _, file := range []string{"manifests/a.yaml", "metadata/annotations.yaml", "metadata/dependencies.yaml", "metadata/properties.yaml"} {
				b := InspectFS(files(map[string]string{file: test.text}), "a bundle")
				installtest.Contains(t, fmt.Sprint(b.Problems), test.want)
			}
		})
	}
}

// A named pipe in a folder is not waited for, and no device is read.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"manifests", "metadata"} {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		must(t, installtest.NamedPipe(filepath.Join(dir, folder, "pipe.yaml")))
		must(t, os.Symlink("pipe.yaml", filepath.Join(dir, folder, "link.yaml")))
		must(t, os.Symlink("/dev/zero", filepath.Join(dir, folder, "zero.yaml")))
	}
	b := installtest.OrPanic(Open(t.Context(), dir, Registry{}))
	for _, file := range []string{"pipe", "link", "zero"} {
		for _, folder := range []string{"manifests", "metadata"} {
			if !b.has(BrokenFile, folder+"/"+file+".yaml") {
				t.Errorf("%s/%s.yaml is no problem: %v", folder, file, b.Problems)
			}
		}
	}
}

func TestOnlyRegularFilesInALayout(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"index.json is a link":   func(dir string) error { return replaceBy(os.Symlink, "/dev/zero", filepath.Join(dir, "index.json")) },
		"oci-layout is a link":   func(dir string) error { return replaceBy(os.Symlink, "/dev/zero", filepath.Join(dir, "oci-layout")) },
		"a blob is a named pipe": func(dir string) error { return installtest.NamedPipe(filepath.Join(dir, "blobs", "sha256", "x")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := layoutOf(t, imageOf(t, bundleFiles))
			must(t, change(dir))
			_, err := Open(t.Context(), dir, Registry{})
			installtest.Error(t, "is no regular file", err)
		})
	}
}

// The path that the user names may have symbolic links, as in "current -> layout-1".
func TestLinkToAFolder(t *testing.T) {
	folder := t.TempDir()
	must(t, os.Mkdir(filepath.Join(folder, "manifests"), 0o700))
	for name, to := range map[string]string{"layout": layoutOf(t, imageOf(t, bundleFiles)), "folder": folder} {
		current := filepath.Join(t.TempDir(), "current")
		must(t, os.Symlink(to, current))
		for _, path := range []string{current, current + "/"} {
			b := installtest.OrPanic(Open(t.Context(), path, Registry{}))
			installtest.Prefix(t, name+": the source", current, b.Source)
		}
	}
	dir := layoutOf(t, imageOf(t, bundleFiles))
	current := filepath.Join(t.TempDir(), "current")
	must(t, os.Symlink(dir, current))
	must(t, replaceBy(os.Symlink, "/dev/zero", filepath.Join(dir, "index.json")))
	_, err := Open(t.Context(), current, Registry{})
	installtest.Error(t, "is no regular file", err)
}

func replaceBy(link func(from, to string) error, from, to string) error {
	return errors.Join(os.Remove(to), link(from, to))
}

// A folder with manifests is a bundle, also when it has the layout of another one.
func TestFolderWithBoth(t *testing.T) {
	for _, folder := range []string{"manifests", "metadata"} { // An annotation may name another folder of manifests.
		dir := layoutOf(t, imageOf(t, bundleFiles))
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		b := installtest.OrPanic(Open(t.Context(), dir, Registry{}))
		installtest.Same(t, "the source with "+folder, dir, b.Source)
	}
}

// A folder that is named like an image with a digest is not that image.
func TestFolderNamedLikeAnImage(t *testing.T) {
	t.Chdir(t.TempDir())
	reference := "127.0.0.1:1/shop@sha256:" + strings.Repeat("a", 64)
	must(t, os.MkdirAll(filepath.Join(reference, "manifests"), 0o700))
	if b, err := Open(t.Context(), reference, Registry{}); err == nil {
		t.Errorf("the folder is read: %v", b)
	}
	_, err := Open(t.Context(), "./"+reference, Registry{})
	installtest.Must(t, err)
}

// All that a layer unpacks to is limited: also what follows its archive's end, and files that a layer above hides.
func TestUnpackedSize(t *testing.T) {
	hidden := []tar.Header{file("manifests/b.yaml", "a")}
	for name, image := range map[string]v1.Image{
		"behind the end of an archive": withLayer(t, archive(t, bundleFiles), maxUnpacked),
		"a hidden file":                mutateAppend(t, withLayer(t, hugeArchive(t, "manifests/b.yaml", maxUnpacked), 0), archive(t, hidden)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := InspectImage(t.Context(), image, "an image")
			installtest.ErrorIs(t, errUnpacked, err)
		})
	}
}

// withLayer is an image whose layer is a text and zeros behind it, compressed.
func withLayer(t *testing.T, text []byte, zeros int) v1.Image {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest))
	must(t, err)
	_, err = z.Write(text)
	must(t, err)
	for chunk := make([]byte, 1<<20); zeros > 0; zeros -= len(chunk) {
		_, err := z.Write(chunk)
		must(t, err)
	}
	must(t, z.Close())
	return installtest.OrPanic(mutate.AppendLayers(empty.Image, static.NewLayer(out.Bytes(), types.OCILayerZStd)))
}

func mutateAppend(t *testing.T, image v1.Image, layer []byte) v1.Image {
	t.Helper()
	return installtest.OrPanic(mutate.AppendLayers(image, static.NewLayer(layer, types.DockerUncompressedLayer)))
}

func hugeArchive(t *testing.T, name string, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must(t, w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600}))
	return append(out.Bytes(), make([]byte, size)...)
}

// A layer that the manifest says is elsewhere is not asked for.
func TestLayerElsewhere(t *testing.T) {
	image := installtest.OrPanic(mutate.AppendLayers(empty.Image, static.NewLayer([]byte("x"), types.DockerForeignLayer)))
	_, err := InspectImage(t.Context(), image, "an image")
	installtest.Error(t, "stored outside of its registry", err)
}

// A registry that sends without end, or nothing at all, ends with the context.
func TestSlowRegistries(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	t.Run("an endless answer", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(endless))
		defer server.Close()
		if _, err := Open(t.Context(), server.Listener.Addr().String()+"/shop:v1", Registry{PlainHTTP: true}); err == nil {
			t.Error("it is read")
		}
	})
	t.Run("silence", func(t *testing.T) {
		listener := installtest.OrPanic(net.Listen("tcp", "127.0.0.1:0"))
		defer listener.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var accepted atomic.Int32
		go func() {
			for {
				if _, err := listener.Accept(); err != nil {
					return
				}
				accepted.Add(1)
				cancel()
			}
		}()
		if _, err := Open(ctx, listener.Addr().String()+"/shop:v1", Registry{PlainHTTP: true}); !errors.Is(err, context.Canceled) || accepted.Load() == 0 {
			t.Errorf("after %d connections: %v", accepted.Load(), err)
		}
	})
}
