package main

import (
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newImage does not compress: the digest then does not depend on the version of a compressor.
func newImage(files []file, architecture string, runs v1.Config) (v1.Image, error) {
	content, err := tarball(files)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, static.NewLayer(content, types.OCIUncompressedLayer))
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

// architectureOf refuses a program that needs a C library: its container would fail with "no such file".
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
	if settings["CGO_ENABLED"] != "0" {
		return "", fmt.Errorf("%s may need a C library, which the image does not have: build it with CGO_ENABLED=0", binary)
	}
	return settings["GOARCH"], nil
}

// indexOf returns a single image as it is. Two images for one architecture are refused: a node would use the first.
func indexOf(images []v1.Image) (mutate.Appendable, error) {
	if len(images) == 1 {
		return images[0], nil
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	seen := map[string]bool{}
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		if seen[config.Architecture] {
			return nil, fmt.Errorf("two programs are built for %s: name one for each architecture", config.Architecture)
		}
		seen[config.Architecture] = true
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture},
		}})
	}
	return index, nil
}

// writeArchive adds two annotations with the complete name: containerd reads the first, other tools the second.
func writeArchive(out, name string, image mutate.Appendable) error {
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name":          name,
			"org.opencontainers.image.ref.name": name,
		}},
	})
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
	content, err := tarball(files)
	if err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644) //nolint:gosec // G306: an image, which others may read
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
