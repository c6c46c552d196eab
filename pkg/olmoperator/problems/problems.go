// Package problems reports with events what a controller cannot do.
package problems

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// Reporter emits an event for each problem that it has not reported yet. It reports a problem again if the problem was
// solved in the meantime.
type Reporter struct {
	Events record.EventRecorder
	Reason string

	mutex sync.Mutex
	known map[cache.ObjectName][]string
}

// Report takes all current problems of an object.
func (r *Reporter) Report(name cache.ObjectName, regarding runtime.Object, problems []string) {
	for _, problem := range r.replace(name, problems) {
		r.Events.Event(regarding, corev1.EventTypeWarning, r.Reason, problem)
	}
}

// Forget is for an object that is deleted, or that the controller does not reconcile any more.
func (r *Reporter) Forget(name cache.ObjectName) { r.replace(name, nil) }

// replace returns the problems that are new.
func (r *Reporter) replace(name cache.ObjectName, problems []string) (added []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, problem := range problems {
		if !slices.Contains(r.known[name], problem) && !slices.Contains(added, problem) {
			added = append(added, problem)
		}
	}
	if r.known == nil {
		r.known = map[cache.ObjectName][]string{}
	}
	r.known[name] = problems
	if len(problems) == 0 {
		delete(r.known, name)
	}
	return added
}
