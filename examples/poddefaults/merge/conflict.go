package merge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

// Conflict is one item of a PodDefault that cannot be merged into a pod.
type Conflict struct {
	PodDefault string
	Field      string
	Key        string
	// Problem is the other item, its owner, and the difference.
	Problem string
}

// String returns a message for users.
func (c Conflict) String() string {
	return fmt.Sprintf("merging %s for %s has a conflict on %s: %s", c.Field, c.PodDefault, c.Key, c.Problem)
}

// ConflictError is the reason why a pod cannot have all PodDefaults that select it.
type ConflictError struct {
	// PodDefaults are the names of all that select the pod.
	PodDefaults []string
	Pod         string
	Conflicts   []Conflict
}

func (m *merger) conflict(c Conflict) { m.conflicts = append(m.conflicts, c) }

func newConflictError(pod *corev1.Pod, podDefaults []*v1alpha1.PodDefault, conflicts []Conflict) *ConflictError {
	err := &ConflictError{Pod: cmp.Or(pod.Name, pod.GenerateName), Conflicts: conflicts}
	for _, d := range podDefaults {
		err.PodDefaults = append(err.PodDefaults, d.Name)
	}
	return err
}

// Error lists every conflict, so that a user can fix all of them at once.
func (e *ConflictError) Error() string {
	conflicts := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		conflicts[i] = c.String()
	}
	return fmt.Sprintf("conflict occurred while applying poddefaults: %s on pod: %s err: [%s]; "+
		"make the two of each conflict the same, give one another name, or keep all PodDefaults away with the pod's annotation %s: \"true\"",
		strings.Join(e.PodDefaults, ","), e.Pod, strings.Join(conflicts, "; "), ExcludeAnnotation)
}

// owner is the name of the PodDefault that added an item, or thePod.
type owner string

const thePod owner = ""

type place struct{ container string }

var inPod = place{}

func (o owner) at(where place) string {
	whose := "the pod"
	if o != thePod {
		whose = "PodDefault " + string(o)
	}
	if where == inPod {
		return whose
	}
	return whose + " in container " + where.container
}

// isEqual treats empty and missing lists alike, and compares quantities by value.
func isEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// differs names the fields that differ. It shows no values: they can be long or confidential.
func differs(desired, other any, whose string) string {
	a, b := fields(desired), fields(other)
	var differing []string
	for field := range a {
		if !isEqual(a[field], b[field]) {
			differing = append(differing, field)
		}
	}
	for field := range b {
		if _, isSeen := a[field]; !isSeen {
			differing = append(differing, field)
		}
	}
	slices.Sort(differing)
	return fmt.Sprintf("it differs in %s from that of %s", strings.Join(differing, ", "), whose)
}

func fields(item any) map[string]any {
	written, err := json.Marshal(item)
	if err != nil {
		panic(fmt.Sprintf("encoding a %T, which Kubernetes' own types always allow: %v", item, err))
	}
	fields := map[string]any{}
	if err := json.Unmarshal(written, &fields); err != nil {
		panic(fmt.Sprintf("decoding a %T that was just encoded: %v", item, err))
	}
	return fields
}
