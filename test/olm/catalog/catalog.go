package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Package is a package of a catalog. Channels name bundles by the names of their ClusterServiceVersions.
type Package struct {
	Name           string
	DefaultChannel string
	Channels       []Channel
	Bundles        []Bundle
}

// Channel is a list of versions, and of the upgrades between them.
type Channel struct {
	Name    string  `json:"name"`
	Entries []Entry `json:"entries"`
}

// Entry is a version in a channel.
type Entry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// Chain returns a channel in which each version replaces the version before it.
func Chain(name string, versions ...Bundle) Channel {
	channel := Channel{Name: name}
	previous := ""
	for _, b := range versions {
		channel.Entries = append(channel.Entries, Entry{Name: b.Name(), Replaces: previous})
		previous = b.Name()
	}
	return channel
}

// Text returns packages as a file-based catalog, whose schemas are described at
// https://olm.operatorframework.io/docs/reference/file-based-catalogs.
func Text(packages ...Package) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, p := range packages {
		documents, err := p.documents()
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Name, err)
		}
		for _, document := range documents {
			if err := encoder.Encode(document); err != nil {
				return nil, fmt.Errorf("package %s: %w", p.Name, err)
			}
		}
	}
	return text.Bytes(), nil
}

func (p Package) documents() ([]any, error) {
	documents := []any{map[string]string{"schema": "olm.package", "name": p.Name, "defaultChannel": p.DefaultChannel}}
	for _, c := range p.Channels {
		documents = append(documents, struct {
			Schema  string `json:"schema"`
			Package string `json:"package"`
			Channel
		}{"olm.channel", p.Name, c})
	}
	for _, b := range p.Bundles {
		properties, err := b.properties()
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Name(), err)
		}
		documents = append(documents, map[string]any{
			"schema": "olm.bundle", "package": p.Name, "name": b.Name(), "image": b.Image, "properties": properties,
		})
	}
	return documents, nil
}

type property struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

func (b Bundle) properties() ([]property, error) {
	all := []property{{"olm.package", map[string]string{"packageName": b.Package, "version": b.CSV.Spec.Version.String()}}}
	for _, crd := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		all = append(all, property{"olm.gvk", kindOf(crd)})
	}
	for _, crd := range b.CSV.Spec.CustomResourceDefinitions.Required {
		all = append(all, property{"olm.gvk.required", kindOf(crd)})
	}
	if b.Image != "" {
		return append(all, property{"olm.csv.metadata", b.metadata()}), nil
	}
	objects, err := b.objects()
	for _, data := range objects {
		all = append(all, property{"olm.bundle.object", map[string][]byte{"data": data}})
	}
	return all, err
}

// objects returns the ClusterServiceVersion and the other objects as JSON.
func (b Bundle) objects() (texts [][]byte, err error) {
	objects := []any{b.CSV}
	for _, o := range b.Others {
		objects = append(objects, o)
	}
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// metadata is what package-server reads of a bundle that is not in the catalog itself.
func (b Bundle) metadata() map[string]any {
	spec := b.CSV.Spec
	return map[string]any{
		"displayName": spec.DisplayName, "description": spec.Description, "installModes": spec.InstallModes,
		"crdDescriptions": spec.CustomResourceDefinitions, "apiServiceDefinitions": spec.APIServiceDefinitions,
	}
}

func kindOf(crd operatorsv1alpha1.CRDDescription) map[string]string {
	_, group, _ := strings.Cut(crd.Name, ".")
	return map[string]string{"group": group, "kind": crd.Kind, "version": crd.Version}
}
