package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

// conflict records an item of a PodDefault that cannot be merged. The problem names the other item and its owner.
func (m *merger) conflict(podDefault, field, key, problem string) {
	m.conflicts = append(m.conflicts, fmt.Sprintf("merging %s for %s has a conflict on %s: %s", field, podDefault, key, problem))
}

// conflictError lists every conflict, so that a user can fix all of them at once.
func (m *merger) conflictError() error {
	return fmt.Errorf("conflict occurred while applying poddefaults: %s on pod: %s err: [%s]; "+
		"make the two of each conflict the same, give one another name, or keep all PodDefaults away with the pod's annotation %s: \"true\"",
		Names(m.podDefaults), cmp.Or(m.pod.Name, m.pod.GenerateName), strings.Join(m.conflicts, "; "), ExcludeAnnotation)
}

// owner is the name of the PodDefault that added an item, or thePod.
type owner string

const thePod owner = ""

const inPod = "" // the container of items of the pod itself

// at names the owner of an item in a container, or in the pod itself.
func (o owner) at(container string) string {
	whose := "the pod"
	if o != thePod {
		whose = "PodDefault " + string(o)
	}
	if container == inPod {
		return whose
	}
	return whose + " in container " + container
}

// isEqual treats empty and missing lists alike, and compares quantities by value.
func isEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// differs names the fields that differ. It shows no values: they can be long or confidential.
func differs[T any](desired, other T, whose string) string {
	a, b := fields(&desired), fields(&other)
	all := sets.List(sets.KeySet(a).Union(sets.KeySet(b)))
	differing := slices.DeleteFunc(all, func(field string) bool { return isEqual(a[field], b[field]) })
	return fmt.Sprintf("it differs in %s from that of %s", strings.Join(differing, ", "), whose)
}

func fields(item any) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
	if err != nil {
		panic(fmt.Sprintf("encoding a %T, which Kubernetes' own types always allow: %v", item, err))
	}
	return fields
}
