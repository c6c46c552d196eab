package main

import (
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// writeArchive adds two annotations with the complete name: containerd reads the first, other tools the second.
func writeArchive(out, name string, image v1.Image) error {
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
