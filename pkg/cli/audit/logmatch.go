package audit

import (
	"cmp"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// identity names an object, in any version.
type identity struct {
	resource        schema.GroupResource
	namespace, name string
}

func (o Object) identity() identity {
	return identity{storage(o.Resource.GroupResource()), o.Namespace, o.Name}
}

func (w logged) identity() identity { return identity{storage(w.resource), w.namespace, w.name} }

// named returns the log with the names that API servers generated: in the order of the requests, that of the next object
// that fits. Requests of the same second may exchange their names. A log of level RequestResponse has the names itself.
func (l *Log) named(objects []Object) *Log {
	generated := map[identity][]Object{}
	for _, o := range objects {
		if o.GeneratedName {
			unnamed := o.identity()
			unnamed.name = ""
			generated[unnamed] = append(generated[unnamed], o)
		}
	}
	for _, all := range generated {
		slices.SortFunc(all, func(a, b Object) int { return cmp.Compare(a.version, b.version) })
	}
	result := *l
	result.writes = slices.Clone(l.writes)
	slices.SortStableFunc(result.writes, func(a, b logged) int { return a.answered.Compare(b.answered) })
	for i, w := range result.writes {
		if w.name != "" || w.operation != admissionregistrationv1.Create || w.subresource != "" {
			continue
		}
		candidates := generated[w.identity()]
		if next := slices.IndexFunc(candidates, func(o Object) bool { return w.stamped(o.created) }); next >= 0 {
			result.writes[i].name, result.writes[i].uid = candidates[next].Name, candidates[next].UID
			generated[w.identity()] = slices.Delete(candidates, next, next+1)
		}
	}
	return &result
}

// stamped reports whether the API server may have written a time of whole seconds during the request.
func (w logged) stamped(t time.Time) bool {
	return !t.Before(w.received.Truncate(time.Second)) && !t.After(w.answered)
}

// without returns the changes that the log does not explain. A request that the log has passed without an answer, which
// passed returns, or the webhook did answer, or it was not called. The note is why the log is not enough.
func (l *Log) without(changes []shown, opening managerv1alpha1.Opening) (rest []shown, note string) {
	lacks := l.lacks(windowOf(opening, false, admissionregistrationv1.Update))
	writes := map[identity][]logged{}
	for _, w := range l.writes {
		writes[w.identity()] = append(writes[w.identity()], w)
	}
	var timeless []shown
	for _, c := range changes {
		ofObject := writes[c.object.identity()]
		switch {
		case c.isTimeless():
			timeless = append(timeless, c)
		case !slices.ContainsFunc(ofObject, func(w logged) bool { return w.is(c.Change) }):
			rest = append(rest, c)
		}
	}
	switch {
	case lacks != "":
		return append(rest, timeless...), lacks
	case len(rest) > 0:
		return append(rest, timeless...), "the audit log lacks requests of objects that are listed: give the logs of all API servers"
	default:
		return nil, ""
	}
}

// isTimeless reports whether the object does not show when it was changed.
func (s shown) isTimeless() bool {
	return s.Time == nil || s.Operation == admissionregistrationv1.Update && s.Evidence == FromCreation
}

func (w logged) is(c Change) bool {
	return w.operation == c.Operation && w.subresource == c.Subresource && w.stamped(c.Time.Time)
}

// passed returns the requests that passed in an opening because the webhook did not answer.
func (l *Log) passed(m matcher, opening managerv1alpha1.Opening, objects []Object) []shown {
	w := windowOf(opening, false, admissionregistrationv1.Update)
	existing := map[identity]*Object{}
	for i := range objects {
		existing[objects[i].identity()] = &objects[i]
	}
	var all []shown
	for _, write := range l.writes {
		if write.answered.Before(w.begins()) || w.endsBefore(write.received) {
			continue
		}
		if s, is := m.passedBy(write, w, existing[write.identity()]); is {
			all = append(all, s)
		}
	}
	return all
}

// passedBy returns the change of a request that passed in a window. existing is the object that has its name now, or nil.
func (m matcher) passedBy(write logged, w window, existing *Object) (shown, bool) {
	s := shown{entry: write.entry(), Change: Change{
		Operation: write.operation, Subresource: write.subresource, Time: stamp(write.received), User: write.user,
		Opening: w.From, Evidence: FromAuditLog, Certainty: Certain,
	}}
	if s.entry.State == Vanished && m.isUnread(write.resource) {
		s.entry.State = Unknown
	}
	regarded := m.object(write)
	if existing != nil && !existing.created.After(write.answered) {
		s.object, regarded = existing, *existing
	}
	answer := and(
		func() truth { return m.concerns(write) },
		func() truth { return m.unanswered(write, regarded, w) },
		func() truth { return write.effect(s.object) },
	)
	if answer.of == maybe {
		s.Certainty, s.Reason = Possible, answer.reason
	}
	return s, answer.of != no
}

// unanswered reports whether a request passed although the webhook did not answer.
func (m matcher) unanswered(write logged, o Object, w window) truth {
	switch {
	case write.passedWithout(m.Name):
		return isTrue
	case m.failsOpen(write, o, w):
		return perhaps("a matchCondition fails for the request: an open webhook is not called then")
	default:
		return isFalse
	}
}

func (w logged) passedWithout(webhook string) bool {
	return slices.Contains(w.open, webhook) || slices.Contains(w.open, wellknown.OpenWebhookPrefix+webhook)
}

// entry is that of an object which does not exist any more.
func (w logged) entry() Entry {
	e := Entry{Group: w.resource.Group, Version: w.version, Resource: w.resource.Resource, Namespace: w.namespace, Name: w.name, UID: w.uid, State: Vanished}
	if w.operation == admissionregistrationv1.Delete && w.subresource == "" {
		e.State = Deleted
	}
	return e
}

// object returns what a request shows of its object. The kind is empty if the resource is not served.
func (m matcher) object(w logged) Object {
	resource := lists.First(m.served.Resources, func(r explain.Resource) bool {
		return r.GroupResource() == w.resource && r.Version == w.version && r.Subresource == ""
	})
	return Object{Resource: resource, Namespace: w.namespace, Name: w.name}
}
