package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// sets are the files to apply, and the directories of manifests that each contains.
var sets = map[string][]string{
	"install.yaml":        {"crds", "crds/olm", "manager"},
	"install-on-olm.yaml": {"crds", "manager"},
	"olm-crds.yaml":       {"crds/olm"},
}

// writeManifests names the image by its digest, so that the manager that runs is the one that was released.
func (r *release) writeManifests(context.Context) error {
	for name, directories := range sets {
		content, err := r.kustomize(directories)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.store(name, content); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) kustomize(directories []string) ([]byte, error) {
	overlay := filepath.Join(r.root, "out", "release-build", "overlay")
	if err := os.MkdirAll(overlay, 0o750); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(overlayOf(directories, r.manager)), 0o600); err != nil {
		return nil, err
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

func overlayOf(directories []string, manager image) string {
	var resources strings.Builder
	for _, directory := range directories {
		fmt.Fprintf(&resources, "- ../../../manifests/%s\n", directory)
	}
	return fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
%spatches:
- target: {kind: Deployment, name: %s}
  patch: |
    - op: replace
      path: /spec/template/spec/containers/0/image
      value: %s
`, resources.String(), managerOf, manager.pinned())
}
