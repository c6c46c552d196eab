package audit

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

const (
	// clockDifference is how much the clocks of the manager and of API servers may differ.
	clockDifference = 5 * time.Second
	// longestRequest is how long an API server works on a write. It stamps the object first, and calls webhooks then.
	longestRequest = 34 * time.Second
)

// window is an opening, with the times outside of it that clocks and long requests add.
type window struct {
	managerv1alpha1.Opening

	// lasts reports whether the webhook is still open.
	lasts bool
	// late is how long after the end an API server may stamp an object whose call it made before the end.
	late time.Duration
}

// windowOf returns the window for a change. API servers stamp the creation after the calls of mutating webhooks.
func windowOf(o managerv1alpha1.Opening, mutating bool, operation admissionregistrationv1.OperationType) window {
	w := window{Opening: o, lasts: o.ClosedBy == "" || o.Until == nil, late: clockDifference}
	if mutating && operation == admissionregistrationv1.Create {
		w.late += longestRequest
	}
	return w
}

func (w window) begins() time.Time { return w.From.Add(-clockDifference - longestRequest) }

// endsBefore reports whether the window ends before a time.
func (w window) endsBefore(t time.Time) bool { return !w.lasts && t.After(w.Until.Add(w.late)) }

// contains reports whether a change was made in the opening. Its time has a resolution of one second, and the opening is recorded
// until the end of its last second.
func (w window) contains(t time.Time) truth {
	switch {
	case t.Before(w.begins()) || w.endsBefore(t):
		return isFalse
	case !t.After(w.From.Time):
		return perhaps("the change was made at or shortly before the beginning of the opening")
	case !w.lasts && !t.Before(w.Until.Add(-time.Second).Truncate(time.Second)):
		return perhaps("the change was made at or shortly after the end of the opening")
	default:
		return isTrue
	}
}

// passed reports whether a request of this time passes: evaluate is the result of a CEL expression for it.
func (w window) passed(t time.Time, evaluate func(expression string) truth) truth {
	if w.AllFrom == nil || t.Before(w.AllFrom.Add(-clockDifference)) {
		return evaluate(w.Requests)
	}
	widened := evaluate(w.AllRequests)
	if t.After(w.AllFrom.Add(clockDifference)) {
		return widened
	}
	if before := evaluate(w.Requests); before.of == no && widened.of == yes {
		return perhaps("the change was made when the opening was widened")
	}
	return widened
}
