package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	imagespec "github.com/opencontainers/image-spec/specs-go/v1"
)

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
	return canonical(index)
}

// canonicalIndex is an index whose JSON has the fields and the order of the image specification's own types. skopeo
// writes an index in this form when it copies one: another form would get another digest in the registry.
type canonicalIndex struct {
	libraryIndex
	raw []byte
}

// libraryIndex has a name of its own, because v1.ImageIndex has a method ImageIndex.
type libraryIndex interface{ v1.ImageIndex }

func canonical(index v1.ImageIndex) (v1.ImageIndex, error) {
	raw, err := index.RawManifest()
	if err != nil {
		return nil, err
	}
	var content imagespec.Index
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	for i := range content.Manifests {
		content.Manifests[i].ArtifactType = "" // The library adds the type of the configuration. It is for artifacts that are no images.
	}
	raw, err = json.Marshal(content)
	return canonicalIndex{index, raw}, err
}

func (c canonicalIndex) RawManifest() ([]byte, error) { return c.raw, nil }

func (c canonicalIndex) Size() (int64, error) { return int64(len(c.raw)), nil }

func (c canonicalIndex) Digest() (v1.Hash, error) {
	digest, _, err := v1.SHA256(bytes.NewReader(c.raw))
	return digest, err
}
