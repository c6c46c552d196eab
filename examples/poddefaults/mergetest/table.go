// Package mergetest has the table by which PodDefaults are merged, in examples: the pure
// merge is tested by it, and so is the operator behind an API server.
package mergetest

import (
	_ "embed"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

//go:embed table.yaml
var table []byte

// Case is one example.
type Case struct {
	// Row is the field of a PodDefault's spec that the example is about.
	Row string `json:"row"`
	// Name distinguishes the examples of a row.
	Name string `json:"case"`
	// Pod is the pod as its author writes it.
	Pod corev1.Pod `json:"pod"`
	// Specs are what the PodDefaults have to give, in their order.
	Specs []v1alpha1.PodDefaultSpec `json:"podDefaults"`
	// Want is what the pod is with them, except for the annotations that every PodDefault
	// leaves. It is empty where there are Conflicts.
	Want corev1.Pod `json:"want"`
	// Conflicts are why the pod is denied.
	Conflicts []string `json:"conflicts"`
}

// Table returns all examples. They are the caller's own.
func Table() ([]Case, error) {
	var cases []Case
	if err := yaml.UnmarshalStrict(table, &cases); err != nil {
		return nil, fmt.Errorf("table.yaml: %w", err)
	}
	for i := range cases {
		c := &cases[i]
		for _, spec := range []*corev1.PodSpec{&c.Pod.Spec, &c.Want.Spec} {
			setImages(spec.InitContainers)
			setImages(spec.Containers)
		}
		for j := range c.Specs {
			setImages(c.Specs[j].InitContainers)
			setImages(c.Specs[j].Sidecars)
		}
	}
	return cases, nil
}

// PodDefaults are those of the example, for all pods of a namespace. Their names are in
// the order of the list, and their versions are made up.
func (c *Case) PodDefaults(namespace string) []*v1alpha1.PodDefault {
	var all []*v1alpha1.PodDefault
	for i, spec := range c.Specs {
		d := &v1alpha1.PodDefault{Spec: spec}
		d.APIVersion, d.Kind = v1alpha1.Resource.GroupVersion().String(), "PodDefault"
		d.Namespace, d.Name, d.ResourceVersion = namespace, string(rune('a'+i)), strconv.Itoa(i+1)
		all = append(all, d)
	}
	return all
}

func setImages(containers []corev1.Container) {
	for i := range containers {
		if containers[i].Image == "" {
			containers[i].Image = "registry.example.com/any:1"
		}
	}
}
