package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// usual is the platform whose image is taken of an index that has several. A bundle is the same
// on all: builders only make one for each platform that they were told.
const usual = "linux/amd64"

// imageIn is the image of an index: builders put one around the image of a single platform, and
// beside it what attests how it was built.
func imageIn(index v1.ImageIndex) (v1.Image, v1.Hash, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	images := slices.DeleteFunc(slices.Clone(manifest.Manifests), func(d v1.Descriptor) bool { return !d.MediaType.IsImage() || attests(d) })
	if len(images) == 0 {
		return nil, v1.Hash{}, errors.New("is an index without an image: name the image of the bundle, or build it anew")
	}
	taken := 0
	if len(images) > 1 {
		taken = slices.IndexFunc(images, func(d v1.Descriptor) bool { return platform(d) == usual })
	}
	if taken < 0 {
		var all []string
		for _, d := range images {
			all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s", d.Digest, platform(d)), " "))
		}
		return nil, v1.Hash{}, fmt.Errorf("is an index of %d images, none of them for %s (%s): name one by its digest, or make a layout with that one alone", len(images), usual, strings.Join(all, ", "))
	}
	image, err := index.Image(images[taken].Digest)
	return image, images[taken].Digest, err
}

// attests tells whether a builder marked an image as none that runs.
func attests(d v1.Descriptor) bool {
	return d.Platform != nil && d.Platform.OS == "unknown" && d.Platform.Architecture == "unknown"
}

func platform(d v1.Descriptor) string {
	if d.Platform == nil {
		return ""
	}
	return d.Platform.String()
}

// imageOfLayout is the image of an entry of a layout, or of the index that the entry is.
func imageOfLayout(layout v1.ImageIndex, entry v1.Descriptor) (v1.Image, v1.Hash, error) {
	if !entry.MediaType.IsIndex() {
		image, err := layout.Image(entry.Digest)
		return image, entry.Digest, err
	}
	index, err := layout.ImageIndex(entry.Digest)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	manifest, err := index.RawManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if err := checkDigest("index", bytes.NewReader(manifest), entry.Digest); err != nil {
		return nil, v1.Hash{}, err
	}
	return imageIn(index)
}
