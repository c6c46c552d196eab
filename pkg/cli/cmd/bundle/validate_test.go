package bundle

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The file of waivers is next to the folder that a reference resolves to.
func TestWaiversNextToTheBundle(t *testing.T) {
	const example = "../../../../examples/projectpolicy/bundle"
	root := t.TempDir()
	installtest.Must(t, os.CopyFS(filepath.Join(root, "bundle"), os.DirFS(example)))
	writeLayout(t, filepath.Join(root, "layout"), example)
	waivers := installtest.OrPanic(os.ReadFile(example + ".waivers.yaml"))
	for _, file := range []string{"bundle.waivers.yaml", "layout.waivers.yaml"} {
		installtest.Must(t, os.WriteFile(filepath.Join(root, file), waivers, 0o600))
	}
	for name, test := range map[string]struct{ in, reference string }{
		"a name":                        {"", "bundle"},
		"a name with a slash":           {"", "bundle/"},
		"an absolute path":              {"", filepath.Join(root, "bundle")},
		"the folder itself":             {"bundle", "."},
		"the folder itself and a slash": {"bundle", "./"},
		"a path with a parent folder":   {"bundle", "manifests/.."},
		"the folder above":              {"bundle/manifests", ".."},
		"a layout":                      {"", "layout"},
		"a layout itself":               {"layout", "."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, test.in))
			out, err := command(t, "validate", "--strict", test.reference)
			installtest.Must(t, err)
			installtest.Contains(t, out, "0 errors, 0 warnings, 4 waived")
		})
	}
}

// writeLayout writes an OCI layout with the image of a bundle's folder.
func writeLayout(t *testing.T, dir, bundle string) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "layer.tar")
	file := installtest.OrPanic(os.Create(archive))
	w := tar.NewWriter(file)
	installtest.Must(t, errors.Join(w.AddFS(os.DirFS(bundle)), w.Close(), file.Close()))
	layer := installtest.OrPanic(tarball.LayerFromFile(archive))
	image := installtest.OrPanic(mutate.AppendLayers(empty.Image, layer))
	path := installtest.OrPanic(layout.Write(dir, empty.Index))
	installtest.Must(t, path.AppendImage(image))
}

// The file of waivers may be a named pipe: the command does not read it.
func TestWaiversAreARegularFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	installtest.Must(t, errors.Join(os.Mkdir(dir, 0o700), installtest.NamedPipe(dir+".waivers.yaml")))
	_, err := waiversOf(dir, "")
	installtest.Error(t, "shop.waivers.yaml is no regular file", err)
}
