// Package mergetest has the examples by which the merge and the operator are tested.
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
	// Row is the tested field of a PodDefault's spec.
	Row   string                    `json:"row"`
	Name  string                    `json:"case"`
	Pod   corev1.Pod                `json:"pod"`
	Specs []v1alpha1.PodDefaultSpec `json:"podDefaults"`
	// Want is the resulting pod without the annotations of PodDefaults; empty if there are Conflicts.
	Want      corev1.Pod `json:"want"`
	Conflicts []string   `json:"conflicts"`
}

// Table returns a copy of all examples.
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

// PodDefaults returns PodDefaults for all pods of a namespace, with names in the order of Specs.
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
