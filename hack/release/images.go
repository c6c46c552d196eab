package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// image is what a registry or a node has after the archive was pushed or imported.
type image struct {
	name   string // docker.io/olm-webhook-manager/olm-webhook-manager:v0.1.0
	digest string // sha256:...
}

func (i image) pinned() string { return i.name + "@" + i.digest }

// writeImages writes one archive with the image of each architecture.
func (r *release) writeImages(ctx context.Context) error {
	mapped := []string{}
	for _, p := range platforms {
		if p.os == "linux" {
			mapped = append(mapped, r.built(managerOf, p))
		}
	}
	name := imageOf + managerOf + ":" + r.version
	command := exec.CommandContext(ctx, "go", append([]string{"run", "./hack/mkimage", "-o", r.path(managerOf + "_" + r.version + "_image.tar"), "-t", name}, mapped...)...) //nolint:gosec // G204: the arguments are ours
	command.Dir = filepath.Clean(r.root)
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	printed, err := output(command)
	digest, _, _ := strings.Cut(printed, " ")
	r.images = append(r.images, image{name, digest})
	return err
}
