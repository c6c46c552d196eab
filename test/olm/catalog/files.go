package catalog

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Files returns the files of the bundle's image, by their paths.
func (b Bundle) Files() (map[string][]byte, error) {
	const prefix = "operators.operatorframework.io.bundle."
	annotations, err := yaml.Marshal(map[string]any{"annotations": map[string]string{
		prefix + "mediatype.v1": "registry+v1",
		prefix + "manifests.v1": "manifests/",
		prefix + "metadata.v1":  "metadata/",
		prefix + "package.v1":   b.Package,
	}})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"metadata/annotations.yaml": annotations}
	objects, err := b.objects()
	for i, text := range objects {
		files[fmt.Sprintf("manifests/%d.json", i)] = text
	}
	return files, err
}
