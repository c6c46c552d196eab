package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const bundleOf = managerOf + "-bundle"

// writeBundle writes the manager as a bundle for OLM v1, its image, and a catalog that has it.
func (r *release) writeBundle(ctx context.Context) error {
	directory := filepath.Join(r.root, "out", "release-build", "bundle")
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	if _, err := r.goRun(ctx, "./cmd/"+pluginOf, "bundle", "convert", r.path("install-on-olm.yaml"),
		"--name", managerOf, "--version", strings.TrimPrefix(r.version, "v"), "-o", directory); err != nil {
		return err
	}
	if err := describe(filepath.Join(directory, "manifests", managerOf+".clusterserviceversion.yaml"), r.manager); err != nil {
		return err
	}
	if _, err := r.goRun(ctx, "./cmd/"+pluginOf, "bundle", "validate", directory); err != nil {
		return err
	}
	written, err := r.writeImage(ctx, bundleOf, "-bundle", directory)
	if err != nil {
		return err
	}
	catalog, err := catalogOf(r.version, written, os.DirFS(directory))
	if err != nil {
		return err
	}
	return r.store("catalog.yaml", catalog)
}

// describe adds what a catalog shows, and the manifests do not have.
func describe(path string, manager image) error {
	text, err := os.ReadFile(path) //nolint:gosec // G304: written by bundle convert
	if err != nil {
		return err
	}
	var csv map[string]any
	if err := yaml.Unmarshal(text, &csv); err != nil {
		return err
	}
	spec, hasSpec := csv["spec"].(map[string]any)
	metadata, hasMetadata := csv["metadata"].(map[string]any)
	if !hasSpec || !hasMetadata {
		return fmt.Errorf("%s has no metadata or no spec", path)
	}
	spec["displayName"] = "Webhook manager"
	spec["description"] = "Installs the webhooks that ClusterServiceVersions declare: Services, certificates and their rotation, " +
		"namespace selectors, the rollout of the Deployments, and registration when they serve."
	spec["keywords"] = []string{"webhooks", "operators", "certificates"}
	spec["links"] = []map[string]string{{"name": "Documentation", "url": repository}}
	spec["maturity"] = "alpha"
	spec["provider"] = map[string]string{"name": managerOf, "url": repository}
	spec["relatedImages"] = []map[string]string{{"name": "manager", "image": manager.pinned()}}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations["containerImage"], annotations["repository"] = manager.pinned(), repository
	metadata["annotations"] = annotations
	changed, err := yaml.Marshal(csv)
	if err != nil {
		return err
	}
	return os.WriteFile(path, changed, 0o600)
}

// goRun runs a command of the module that is released. With -trimpath, it uses the packages that the build of the
// programs has compiled.
func (r *release) goRun(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"run"}, arguments...)...) //nolint:gosec // G204: the arguments are ours
	command.Dir = r.root
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	return output(command)
}
