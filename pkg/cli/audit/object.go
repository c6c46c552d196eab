package audit

import (
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Object is what the audit needs of an object that exists.
type Object struct {
	Resource        explain.Resource
	Namespace, Name string
	UID             types.UID
	Labels          map[string]string
	// GeneratedName reports whether the API server may have chosen the name.
	GeneratedName bool
	// Content is the whole object; nil if only its metadata were read.
	Content *unstructured.Unstructured

	created time.Time
	deleted *time.Time // when its deletion was requested
	// version is the resource version; 0 if it is no number.
	version uint64
	changes []managed
}

// managed is an entry of metadata.managedFields.
type managed struct {
	manager, subresource string
	time                 time.Time
}

// Observe returns the object with its metadata.
func Observe(resource explain.Resource, meta metav1.Object) Object {
	o := Object{
		Resource: resource, Namespace: meta.GetNamespace(), Name: meta.GetName(), UID: meta.GetUID(), Labels: meta.GetLabels(),
		GeneratedName: meta.GetGenerateName() != "", created: meta.GetCreationTimestamp().Time,
	}
	o.version, _ = strconv.ParseUint(meta.GetResourceVersion(), 10, 64)
	if end := meta.GetDeletionTimestamp(); end != nil {
		requested := end.Add(-time.Duration(ptr.Deref(meta.GetDeletionGracePeriodSeconds(), 0)) * time.Second)
		o.deleted = &requested
	}
	for _, entry := range meta.GetManagedFields() {
		if entry.Time != nil {
			o.changes = append(o.changes, managed{entry.Manager, entry.Subresource, entry.Time.Time})
		}
	}
	slices.SortStableFunc(o.changes, func(a, b managed) int { return a.time.Compare(b.time) })
	return o
}

// creators are the field managers whose last change is the creation.
func (o Object) creators() string {
	for _, c := range o.changes {
		if !c.time.After(o.created) && c.subresource == "" {
			return c.manager
		}
	}
	return ""
}

// hasChangeOf reports whether managedFields has an entry of a subresource, or of the object itself.
func (o Object) hasChangeOf(subresource string) bool {
	return slices.ContainsFunc(o.changes, func(c managed) bool { return c.subresource == subresource })
}

// lastTime is the time of the last change that the object shows.
func (o Object) lastTime() time.Time {
	last := o.created
	for _, c := range o.changes {
		if c.time.After(last) {
			last = c.time
		}
	}
	return last
}

// evidenced is a change of which an object has evidence.
type evidenced struct {
	operation   admissionregistrationv1.OperationType
	subresource string
	time        time.Time
	by          string // the field manager
	evidence    Evidence
}

// evidenced returns the changes with their times. Entries of managedFields that are not later than the creation belong to it.
func (o Object) evidenced() []evidenced {
	all := []evidenced{{admissionregistrationv1.Create, "", o.created, o.creators(), FromCreation}}
	for _, c := range o.changes {
		if c.time.After(o.created) {
			all = append(all, evidenced{admissionregistrationv1.Update, c.subresource, c.time, c.manager, FromManagedFields})
		}
	}
	if o.deleted != nil {
		all = append(all, evidenced{admissionregistrationv1.Delete, "", *o.deleted, "", FromDeletion})
	}
	return all
}
