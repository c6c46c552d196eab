package labelling

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Catalogue has the labels of volumes.
type Catalogue map[Volume]map[string]string

// ParseCatalogue reads YAML of this form:
//
//	volumes:
//	- driver: disk.csi.example.com
//	  handle: vol-0001
//	  labels:
//	    topology.kubernetes.io/region: north
//	    topology.kubernetes.io/zone: north-1
//
// It refuses labels that the API server would refuse: otherwise, a PersistentVolume would be denied
// because of an error of another author. The error names all errors.
func ParseCatalogue(text []byte) (Catalogue, error) {
	var file struct {
		Volumes []struct {
			Driver string            `json:"driver"`
			Handle string            `json:"handle"`
			Labels map[string]string `json:"labels"`
		} `json:"volumes"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, err
	}
	catalogue := Catalogue{}
	var mistakes []error
	for i, entry := range file.Volumes {
		mistake := func(format string, args ...any) {
			mistakes = append(mistakes, fmt.Errorf("volumes[%d]"+format, append([]any{i}, args...)...))
		}
		volume := Volume{Driver: entry.Driver, Handle: entry.Handle}
		if entry.Driver == "" || entry.Handle == "" {
			mistake(": driver and handle must both be set")
		} else if _, isThere := catalogue[volume]; isThere {
			mistake(": %s is listed twice", volume)
		}
		for _, key := range slices.Sorted(maps.Keys(entry.Labels)) {
			for _, problem := range labelProblems(key, entry.Labels[key]) {
				mistake(".labels[%s]: %s", key, problem)
			}
		}
		catalogue[volume] = entry.Labels
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return catalogue, nil
}

func labelProblems(key, value string) []string {
	var problems []string
	for _, problem := range validation.IsQualifiedName(key) {
		problems = append(problems, "the key is not valid: "+problem)
	}
	for _, problem := range validation.IsValidLabelValue(value) {
		problems = append(problems, fmt.Sprintf("%q is not valid: %s", value, problem))
	}
	return problems
}
