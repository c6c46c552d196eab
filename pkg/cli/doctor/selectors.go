package doctor

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type certainty int

const (
	no certainty = iota
	perhaps
	surely
)

// objectLabels are the labels of an object, as far as they are known. In the zero value, none is.
type objectLabels struct {
	known map[string]string
	// all reports that it has no other labels.
	all bool
}

var unlabelled = objectLabels{all: true}

func allLabels(of map[string]string) objectLabels { return objectLabels{known: of, all: true} }

func someLabels(these map[string]string) objectLabels { return objectLabels{known: these} }

// selects returns perhaps for a selector that cannot be parsed: no API server has stored one.
func selects(s *metav1.LabelSelector, object objectLabels) certainty {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return surely
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return perhaps
	}
	requirements, _ := selector.Requirements()
	contradicted := func(r labels.Requirement) bool {
		_, known := object.known[r.Key()]
		return (known || object.all) && !r.Matches(labels.Set(object.known))
	}
	open := func(r labels.Requirement) bool {
		_, known := object.known[r.Key()]
		return !known && !object.all
	}
	switch {
	case slices.ContainsFunc(requirements, contradicted):
		return no
	case slices.ContainsFunc(requirements, open):
		return perhaps
	default:
		return surely
	}
}
