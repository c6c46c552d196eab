package controller

import (
	"slices"
	"sync"
)

// labelRefusals remembers which Namespaces could not be given, or relieved of, the labels of
// OperatorGroups, and why. A restart forgets it, and learns it from the first attempt.
type labelRefusals struct {
	mutex sync.Mutex
	known map[string]labelRefusal // by Namespace
}

type labelRefusal struct {
	labels  []string
	message string
}

// accepted forgets what was refused of a Namespace, and returns the labels that it was about.
func (r *labelRefusals) accepted(namespace string) (labels []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	labels = r.known[namespace].labels
	delete(r.known, namespace)
	return labels
}

// refused remembers why labels of a Namespace could not be changed, and returns the labels that it is or
// was about; none when it is known already.
func (r *labelRefusals) refused(namespace string, labels []string, message string) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before := r.known[namespace]
	if before.message == message && slices.Equal(before.labels, labels) {
		return nil
	}
	if r.known == nil {
		r.known = map[string]labelRefusal{}
	}
	r.known[namespace] = labelRefusal{labels, message}
	return slices.Concat(before.labels, labels)
}

// of returns why Namespaces could not be given a label, or relieved of it.
func (r *labelRefusals) of(label string) map[string]string {
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
