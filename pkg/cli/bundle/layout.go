package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// isLayout reports whether a folder has an OCI layout. A folder with metadata or manifests is always a bundle: the metadata
// may name another folder of manifests.
func isLayout(dir string) bool {
	return exists(filepath.Join(dir, "oci-layout")) && !exists(filepath.Join(dir, metadataFolder)) && !exists(filepath.Join(dir, manifestsFolder))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// openLayout follows symbolic links of the path that the user names, and none inside of the layout.
func openLayout(ctx context.Context, dir string) (*Bundle, error) {
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, cause(err))
	}
	if err := plainFiles(folder); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	index, err := layout.ImageIndexFromPath(folder) //nolint:forbidigo // plainFiles has checked the files.
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	manifest, err := manifestOf(index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if n := distinct(manifest.Manifests); n != 1 {
		return nil, fmt.Errorf("%s holds %d images: name a layout with the bundle's alone", dir, n)
	}
	source := dir + "@" + manifest.Manifests[0].Digest.String()
	image, digest, err := imageOfLayout(index, manifest.Manifests[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if err := checkContent(ctx, image, digest); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return InspectImage(ctx, image, source)
}

// distinct counts images. A layout can have one image under several names.
func distinct(entries []v1.Descriptor) int {
	digests := map[v1.Hash]bool{}
	for _, entry := range entries {
		digests[entry.Digest] = true
	}
	return len(digests)
}

func manifestOf(index v1.ImageIndex) (*v1.IndexManifest, error) {
	if err := checkManifest(index); err != nil {
		return nil, err
	}
	return index.IndexManifest()
}

// plainFiles refuses links, devices and large files: the library reads whole files.
func plainFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no regular file: copy the layout again, without links", path)
		case info.Size() > maxImage:
			return fmt.Errorf("%s has more than %d MiB, and a bundle is a few manifests", path, maxImage>>20)
		default:
			return nil
		}
	})
}

// checkContent verifies the digests of a layout. The library does so only for registries.
func checkContent(ctx context.Context, image v1.Image, digest v1.Hash) error {
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	if err := checkDigest("manifest", bytes.NewReader(manifest), digest); err != nil {
		return err
	}
	if err := checkSize(image); err != nil { // the library parses the manifest again for each layer
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := checkLayer(l); err != nil {
			return err
		}
	}
	return nil
}

func checkLayer(l v1.Layer) error {
	digest, err := l.Digest()
	if err != nil {
		return err
	}
	content, err := l.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	return checkDigest("layer", io.LimitReader(content, maxImage+1), digest)
}

func checkDigest(what string, content io.Reader, want v1.Hash) error {
	got, _, err := v1.SHA256(content)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("its %s has the digest %s, and not %s, under which it is stored: it was changed, or not copied whole; copy the layout again", what, got, want)
	}
	return nil
}

// defaultPlatform selects the image of an index: the bundle is the same for all platforms.
const defaultPlatform = "linux/amd64"

// imageIn selects an image. Builders create an index also for a single platform, and add attestations.
func imageIn(index v1.ImageIndex) (v1.Image, v1.Hash, error) {
	manifest, err := manifestOf(index)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	images := slices.DeleteFunc(slices.Clone(manifest.Manifests), func(d v1.Descriptor) bool { return !d.MediaType.IsImage() || isAttestation(d) })
	if len(images) == 0 {
		return nil, v1.Hash{}, errors.New("is an index without an image: name the image of the bundle, or build it again")
	}
	taken := 0
	if len(images) > 1 {
		taken = slices.IndexFunc(images, func(d v1.Descriptor) bool { return platform(d) == defaultPlatform })
	}
	if taken < 0 {
		var all []string
		for _, d := range images {
			all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s", d.Digest, platform(d)), " "))
		}
		return nil, v1.Hash{}, fmt.Errorf("is an index of %d images, none of them for %s (%s): name one by its digest, or create a layout with that one alone", len(images), defaultPlatform, strings.Join(all, ", "))
	}
	image, err := index.Image(images[taken].Digest)
	return image, images[taken].Digest, err
}

// isAttestation reports whether a builder marked an image as not runnable.
func isAttestation(d v1.Descriptor) bool {
	return d.Platform != nil && d.Platform.OS == "unknown" && d.Platform.Architecture == "unknown"
}

func platform(d v1.Descriptor) string {
	if d.Platform == nil {
		return ""
	}
	return d.Platform.String()
}

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
