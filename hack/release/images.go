package main

import (
	"context"
	"strings"
)

// image is what a registry or a node has after the archive was pushed or imported.
type image struct {
	name   string // docker.io/olm-webhook-manager/olm-webhook-manager:v0.1.0
	digest string // sha256:...
}

func (i image) pinned() string { return i.name + "@" + i.digest }

// writeImages writes one archive with the image of the manager for each architecture.
func (r *release) writeImages(ctx context.Context) (err error) {
	r.manager, err = r.writeImage(ctx, managerOf, r.builtFor(managerOf, nodePlatforms)...)
	return err
}

// writeImage passes what the image has to mkimage.
func (r *release) writeImage(ctx context.Context, repository string, content ...string) (image, error) {
	name := imageOf + repository + ":" + r.version
	arguments := append([]string{"./hack/mkimage", "-o", r.path(repository + "_" + r.version + "_image.tar"), "-t", name}, content...)
	printed, err := r.goRun(ctx, arguments...)
	if err != nil {
		return image{}, err
	}
	digest, _, _ := strings.Cut(printed, " ")
	written := image{name, digest}
	r.images = append(r.images, written)
	return written, nil
}
