package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// files returns the texts of the bundle, one object in each file.
func (c *converter) files(csv map[string]any) (map[string]string, error) {
	// Some file systems ignore the case of names.
	files, taken, used := map[string]string{}, map[string]bool{}, map[string]int{}
	add := func(name string, value any) error {
		text, err := yaml.Marshal(value)
		files[name], taken[strings.ToLower(name)] = string(text), true
		return err
	}
	const prefix = "operators.operatorframework.io.bundle."
	err := add("metadata/annotations.yaml", map[string]any{"annotations": map[string]any{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": c.options.Name, prefix + "channels.v1": c.options.Channel, prefix + "channel.default.v1": c.options.Channel,
	}})
	if err != nil {
		return nil, err
	}
	if err := add("manifests/"+c.options.Name+".clusterserviceversion.yaml", csv); err != nil {
		return nil, err
	}
	for _, o := range c.manifests {
		stem := fileName(o)
		name := "manifests/" + stem + ".yaml"
		for taken[strings.ToLower(name)] {
			used[strings.ToLower(stem)]++
			name = fmt.Sprintf("manifests/%s_%d.yaml", stem, used[strings.ToLower(stem)]+1)
		}
		if err := add(name, o.Object); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// maxName is how long a part of the name of a file is: file systems allow 255 bytes for the name.
const maxName = 100

// fileName returns the name of the file of an object, as operator-sdk writes it, without the ending.
func fileName(o *unstructured.Unstructured) string {
	if groupkind.Is(o, groupkind.CustomResourceDefinition) {
		plural, group, _ := strings.Cut(o.GetName(), ".")
		return safe(group) + "_" + safe(plural)
	}
	kind := o.GroupVersionKind()
	parts := []string{safe(o.GetName())}
	if kind.Group != "" {
		parts = append(parts, safe(kind.Group))
	}
	return strings.Join(append(parts, safe(kind.Version), safe(strings.ToLower(kind.Kind))), "_")
}

// safe returns a text as a part of the name of a file. The text comes from the input: it may have slashes.
func safe(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '.':
			return r
		default:
			return '-'
		}
	}, text)
	name = strings.TrimLeft(name, ".-")
	if len(name) > maxName || name == "" {
		name = name[:min(len(name), maxName-20)] + "-" + names.Hash(text)
	}
	return name
}
