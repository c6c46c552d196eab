package records

import (
	"slices"
	"sync"
)

// LabelRefusals records why labels of Namespaces could not be changed. After a restart the first attempt does.
type LabelRefusals struct {
	mutex sync.Mutex
	known map[string]labelRefusal // by Namespace
}

type labelRefusal struct {
	labels  []string
	message string
}

// Accepted deletes the refusal of a Namespace, and returns the labels that were refused.
func (r *LabelRefusals) Accepted(namespace string) (labels []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	labels = r.known[namespace].labels
	delete(r.known, namespace)
	return labels
}

// Refused returns these labels and those of the previous refusal, or none when nothing has changed.
func (r *LabelRefusals) Refused(namespace string, labels []string, message string) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before := r.known[namespace]
	if before.message == message && slices.Equal(before.labels, labels) {
		return nil
	}
	put(&r.known, namespace, labelRefusal{labels, message})
	return slices.Concat(before.labels, labels)
}

// Of returns by Namespace why a label could not be added or removed.
func (r *LabelRefusals) Of(label string) map[string]string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	why := map[string]string{}
	for namespace, refusal := range r.known {
		if slices.Contains(refusal.labels, label) {
			why[namespace] = refusal.message
		}
	}
	return why
}
