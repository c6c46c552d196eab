package audit

import (
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// versions has, for each resource, the least resource version of an object that shows a change since a time. API servers
// give each write of a resource a greater version: an object with a greater one was written later than that time, too.
type versions map[schema.GroupResource]uint64

func versionsSince(objects []Object, since time.Time) versions {
	least := versions{}
	for _, o := range objects {
		if o.version == 0 || o.lastTime().Before(since) {
			continue
		}
		if known, is := least[o.Resource.GroupResource()]; !is || o.version < known {
			least[o.Resource.GroupResource()] = o.version
		}
	}
	return least
}

func (v versions) show(o Object) bool {
	least, known := v[o.Resource.GroupResource()]
	return known && o.version > least
}

// hidden returns a change that an object may have, although none of its times is in the opening.
func (m matcher) hidden(o Object, opening managerv1alpha1.Opening, written versions) (Change, bool) {
	w := windowOf(opening, m.Mutates(), admissionregistrationv1.Update)
	if w.endsBefore(o.created) {
		return Change{}, false
	}
	found := Change{Operation: admissionregistrationv1.Update, Opening: opening.From, Certainty: Possible}
	later, isLater := m.laterChange(o, w)
	switch {
	case isLater:
		found.Manager, found.Subresource, found.Evidence = later.manager, later.subresource, FromManagedFields
		found.Reason = fmt.Sprintf("field manager %s changed the object at %s: this hides its earlier changes", later.manager, later.time.UTC().Format(time.RFC3339))
	case !o.hasChangeOf(""): // A creation adds an entry.
		found.Evidence = FromManagedFields
		found.Reason = "metadata.managedFields is empty, or has only entries of subresources: a client removed it, and changes have no times"
	case m.lastSeen(o).Before(w.begins()) && written.show(o):
		found.Evidence, found.Reason = FromResourceVersion, m.whyWritten(o, w)
	default:
		return Change{}, false
	}
	p := past{operation: found.Operation, subresource: found.Subresource, object: o, superseded: true}
	return found, m.inScope(p).of != no
}

// sees reports whether the webhook may see the change of an entry in managedFields.
func (m matcher) sees(o Object, c managed) bool {
	return m.inScope(past{operation: admissionregistrationv1.Update, subresource: c.subresource, object: o, superseded: true}).of != no
}

// lastSeen is the time of the last change that the object shows and the webhook may have seen.
func (m matcher) lastSeen(o Object) time.Time {
	o.changes = lists.Filter(o.changes, func(c managed) bool { return m.sees(o, c) })
	return o.lastTime()
}

// whyWritten returns why the resource version does not exclude a change since the opening began.
func (m matcher) whyWritten(o Object, w window) string {
	const written = "the resource version shows a change since the opening began, and metadata.managedFields "
	for _, c := range o.changes {
		if !c.time.Before(w.begins()) {
			return fmt.Sprintf("%sonly shows that field manager %s changed %s at %s, which the webhook does not see: fields may have been removed, too", written, c.manager, c.subresource, c.time.UTC().Format(time.RFC3339))
		}
	}
	return written + "does not: fields were removed, or a client changed managedFields"
}

// laterChange returns the first change after the opening that the webhook would have seen.
func (m matcher) laterChange(o Object, w window) (managed, bool) {
	for _, c := range o.changes {
		if c.time.After(o.created) && w.endsBefore(c.time) && m.sees(o, c) {
			return c, true
		}
	}
	return managed{}, false
}

// sameSecond returns a change in the second of the creation: managedFields does not distinguish it from the creation.
// It matters for a webhook that does not see the creation.
func (m matcher) sameSecond(o Object, opening managerv1alpha1.Opening) (Change, bool) {
	c := evidenced{operation: admissionregistrationv1.Update, time: o.created, by: o.creators(), evidence: FromCreation}
	if m.admitted(o, c, opening).of == no {
		return Change{}, false
	}
	return Change{
		Operation: c.operation, Time: stamp(c.time), Manager: c.by, Opening: metav1.Time{Time: opening.From.Time}, Evidence: c.evidence, Certainty: Possible,
		Reason: "a change in the second of the creation has no time of its own",
	}, true
}
