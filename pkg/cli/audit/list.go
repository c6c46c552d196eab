package audit

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Facts are what an audit judges.
type Facts struct {
	Webhooks []Webhook
	Served   Served
	Objects  []Object
	// Unread are resources in the scope of the webhooks that could not be listed.
	Unread []Unread
	// Log is the audit log of the API servers, or nil.
	Log *Log
}

// List returns the objects that were, or may have been, admitted while a webhook was open.
func List(f Facts) Report {
	r := Report{Webhooks: f.Webhooks, Unread: unread(f.Unread), Entries: []Entry{}}
	log := f.Log
	if log == nil {
		r.Notes = append(r.Notes, "no audit log was given: deleted objects are not listed, and an object that is listed may have been judged by the webhook")
	} else {
		log = log.named(f.Objects)
		r.AuditLog = &Interval{metav1.NewMicroTime(log.First), metav1.NewMicroTime(log.Last)}
	}
	for _, w := range f.Webhooks {
		if w.Declared != nil {
			entries, notes := f.entries(matcherOf(w, f), log)
			r.Entries, r.Notes = append(r.Entries, entries...), append(r.Notes, notes...)
		}
	}
	slices.SortStableFunc(r.Entries, Entry.compare)
	return r
}

// entries are those of one webhook.
func (f Facts) entries(m matcher, log *Log) (entries []Entry, notes []string) {
	scope := lists.Map(m.Scope(f.Served.Resources), func(r explain.Resource) schema.GroupVersionResource { return r.GroupVersionResource })
	objects := lists.Filter(f.Objects, func(o Object) bool { return slices.Contains(scope, o.Resource.GroupVersionResource) })
	found := map[string]*Entry{}
	for _, opening := range m.Openings {
		written := versionsSince(objects, opening.From.Time)
		var changes []shown
		for i := range objects {
			changes = append(changes, m.shown(&objects[i], opening, written)...)
		}
		if log != nil {
			var note string
			if changes, note = log.without(changes, opening); note != "" {
				notes = append(notes, fmt.Sprintf("webhook %s, opening of %s: %s", m.Name, opening.From.UTC().Format(time.RFC3339), note))
			}
			changes = append(changes, log.passed(m, opening, objects)...)
		}
		for _, s := range changes {
			s.addTo(found, m)
		}
	}
	return lists.Map(lists.ByKey(found), func(e *Entry) Entry { return *e }), notes
}

// shown is a change of an object, or of one that does not exist.
type shown struct {
	Change

	object *Object
	entry  Entry // of an object that does not exist
}

// shown returns what the metadata of an object show of an opening.
func (m matcher) shown(o *Object, opening managerv1alpha1.Opening, written versions) []shown {
	var all []shown
	updated := false
	for _, c := range o.evidenced() {
		answer := m.admitted(*o, c, opening)
		if answer.of == no {
			continue
		}
		change := Change{
			Operation: c.operation, Subresource: c.subresource, Time: stamp(c.time), Manager: c.by, Opening: opening.From, Evidence: c.evidence,
			Certainty: Certain, Reason: answer.reason,
		}
		if answer.of == maybe {
			change.Certainty = Possible
		}
		updated = updated || c.evidence != FromDeletion
		all = append(all, shown{Change: change, object: o})
	}
	if updated {
		return all
	}
	if c, is := m.sameSecond(*o, opening); is {
		return append(all, shown{Change: c, object: o})
	}
	if c, is := m.hidden(*o, opening, written); is {
		return append(all, shown{Change: c, object: o})
	}
	return all
}

// addTo adds the change to the entry of its object.
func (s shown) addTo(found map[string]*Entry, m matcher) {
	e := s.entry
	if o := s.object; o != nil {
		e = Entry{
			Group: o.Resource.Group, Version: o.Resource.Version, Resource: o.Resource.Resource, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
			State: Exists, Object: o,
		}
	}
	key := e.key()
	if found[key] == nil {
		e.Webhook, e.Type, e.Owner, e.Certainty = m.Name, m.Type, m.Namespace+"/"+m.Owner, s.Certainty
		found[key] = &e
	}
	entry := found[key]
	entry.Changes = append(entry.Changes, s.Change)
	if s.Certainty == Certain {
		entry.Certainty = Certain
	}
	if s.object == nil && s.entry.State == Deleted {
		entry.State = Deleted
	}
}
