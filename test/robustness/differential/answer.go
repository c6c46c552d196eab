package differential

import (
	"encoding/json"
	"errors"
	"regexp"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// answer is what is compared.
type answer struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
	Causes  []metav1.StatusCause
	Object  string // JSON
}

func newAnswer(step step, o *unstructured.Unstructured, err error) answer {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		s := status.Status()
		a := answer{Code: s.Code, Reason: s.Reason, Message: neutral(s.Message)}
		if s.Details != nil {
			for _, cause := range s.Details.Causes {
				cause.Message = neutral(cause.Message)
				a.Causes = append(a.Causes, cause)
			}
			sort.Slice(a.Causes, func(i, j int) bool {
				return a.Causes[i].Field+a.Causes[i].Message < a.Causes[j].Field+a.Causes[j].Message
			})
		}
		return a
	case err != nil: // of the connection: the API server has panicked
		return answer{Code: -1}
	case o == nil:
		return answer{Code: 200}
	}
	clean(step, o)
	content, err := json.MarshalIndent(o.Object, "", " ")
	if err != nil {
		return answer{Code: -1, Message: err.Error()}
	}
	return answer{Code: 200, Object: string(content)}
}

var (
	uids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	digits  = regexp.MustCompile(`(resourceVersion|ResourceVersion|the UID in the precondition|the ResourceVersion in the object meta)[^0-9]*[0-9]+`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| [+-]\d{4} [A-Z]+)`)
	numbers = regexp.MustCompile(`: \d+`)
	address = regexp.MustCompile(`10\.\d+\.\d+\.\d+`)
)

// disordered begins messages whose rest depends on the order of a map.
var disordered = regexp.MustCompile(`(?s)(Apply failed with \d+ conflicts|failed to create typed patch object|errors:\n|is invalid: \[).*`)

// neutral removes from a message what differs between clusters, and what is in a random order.
func neutral(message string) string {
	message = disordered.ReplaceAllString(message, "$1")
	message = uids.ReplaceAllString(message, "UID")
	message = digits.ReplaceAllString(message, "$1 N")
	message = times.ReplaceAllString(message, "TIME")
	message = numbers.ReplaceAllString(message, ": N")
	return address.ReplaceAllString(message, "ADDRESS")
}

// clean removes from an object what differs between clusters.
func clean(step step, o *unstructured.Unstructured) {
	for _, path := range [][]string{{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}, {"metadata", "namespace"}} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	if o.GetDeletionTimestamp() != nil {
		_ = unstructured.SetNestedField(o.Object, "set", "metadata", "deletionTimestamp")
	}
	var managed []metav1.ManagedFieldsEntry
	for _, entry := range o.GetManagedFields() {
		entry.Time = nil
		if step.kind.name == definition.name { // its controllers change it when the second has changed
			entry.FieldsV1.SetRawString(strings.ReplaceAll(entry.FieldsV1.GetRawString(), `"f:lastTransitionTime":{},`, ""))
		}
		managed = append(managed, entry)
	}
	// They are sorted by their times, of a second's resolution.
	sort.Slice(managed, func(i, j int) bool { return string(encode(managed[i])) < string(encode(managed[j])) })
	o.SetManagedFields(managed)
	if _, found, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); found && step.kind.name == service.name {
		_ = unstructured.SetNestedField(o.Object, "ADDRESS", "spec", "clusterIP")
		_ = unstructured.SetNestedField(o.Object, "ADDRESS", "spec", "clusterIPs")
	}
	cleanPorts(o)
	cleanConditions(step, o)
}

func cleanPorts(o *unstructured.Unstructured) {
	ports, found, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	if !found {
		return
	}
	for _, p := range ports {
		if port, ok := p.(object); ok && port["nodePort"] != nil {
			port["nodePort"] = "PORT"
		}
	}
	_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
}

func cleanConditions(step step, o *unstructured.Unstructured) {
	conditions, found, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if !found || step.kind.name != definition.name {
		return
	}
	for _, c := range conditions {
		delete(c.(object), "lastTransitionTime")
	}
	_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
}
