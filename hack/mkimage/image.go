package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newImage compresses, as registries expect it: skopeo would otherwise compress, and change the digest. The digest
// depends on the version of Go, as the program does.
func newImage(files []file, architecture string, runs v1.Config) (v1.Image, error) {
	content, err := tarOf(files)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS = "linux"
	config.Architecture = architecture
	config.Created = v1.Time{Time: epoch}
	config.Config = runs
	return mutate.ConfigFile(image, config)
}

// architectureOf refuses a program that needs libraries: its container would fail with "no such file".
func architectureOf(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("%s is no Go program: %w", binary, err)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if settings["GOOS"] != "linux" {
		return "", fmt.Errorf("%s is built for %s: build it with GOOS=linux", binary, settings["GOOS"])
	}
	dynamic, err := isDynamic(binary)
	if err != nil {
		return "", err
	}
	if dynamic {
		return "", fmt.Errorf("%s needs libraries, which the image does not have: build it with CGO_ENABLED=0", binary)
	}
	return settings["GOARCH"], nil
}

// isDynamic reports whether a program needs an interpreter, which loads its libraries.
func isDynamic(binary string) (bool, error) {
	file, err := elf.Open(binary)
	if err != nil {
		return false, fmt.Errorf("%s: %w", binary, err)
	}
	defer file.Close()
	return slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), nil
}

// writeArchive writes the image under two names: its tag and its digest. containerd imports both. A pod that names the
// digest needs the second: containerd ignores the tag of a name that also has a digest. skopeo finds the image by
// org.opencontainers.image.ref.name.
func writeArchive(out, name string, image mutate.Appendable) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name":          name,
			"org.opencontainers.image.ref.name": name,
		}}},
		mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name": repositoryOf(name) + "@" + digest.String(),
		}}},
	)
	dir, err := os.MkdirTemp("", "mkimage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	files, err := readTree(os.DirFS(dir))
	if err != nil {
		return err
	}
	content, err := tarOf(files)
	if err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644) //nolint:gosec // G306: an image, which others may read
}

// repositoryOf returns a name without its tag. A colon before the last slash begins a port.
func repositoryOf(name string) string {
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		return name[:colon]
	}
	return name
}

func readTree(tree fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files = append(files, file{path: name, mode: 0o644, content: content})
		return err
	})
	return files, err
}
