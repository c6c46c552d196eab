package main

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newImage does not compress: the digest then does not depend on the version of a compressor.
func newImage(files []file, architecture, user, entrypoint string) (v1.Image, error) {
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
	config.Config = v1.Config{Entrypoint: []string{entrypoint}, User: user, WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}
