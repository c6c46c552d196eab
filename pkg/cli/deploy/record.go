package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// FieldManager is the name under which the commands own the fields that they write.
const FieldManager = "kubectl-webhooks"

// Record is what an installation has created and changed. A later command deletes and overwrites only that, by uid.
type Record struct {
	// CSV is the last ClusterServiceVersion whose objects were all written.
	CSV string `json:"clusterServiceVersion"`
	// Next is the ClusterServiceVersion whose objects are being written; empty once all are.
	Next      string `json:"next,omitempty"`
	Namespace string `json:"-"`
	Package   string `json:"-"`
	// Version is the resourceVersion of the ConfigMap that was read; empty if it does not exist.
	Version string     `json:"-"`
	Objects []Recorded `json:"objects"`
}

// Recorded is one object of a record.
type Recorded struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	// UID is empty between the decision to create the object and its creation.
	UID types.UID `json:"uid,omitempty"`
	// Created is false for an object of another owner, which the installation has only changed.
	Created bool `json:"created"`
}

const recordKey = "record.yaml"

// RecordName is the name of the ConfigMap with the record of a package's installation.
func RecordName(packageName string) string { return recordPrefix + packageName }

const recordPrefix = "bundle-installation."

// ReadRecord reads a ConfigMap.
func ReadRecord(c *corev1.ConfigMap) (Record, error) {
	r := Record{Namespace: c.Namespace, Version: c.ResourceVersion}
	r.Package, _ = IsRecordName(c.Name)
	text := []byte(c.Data[recordKey])
	if err := yamltext.Check(text); err != nil {
		return r, err
	}
	err := yaml.UnmarshalStrict(text, &r)
	return r, err
}

// Data returns the data of the ConfigMap.
func (r Record) Data() (map[string]string, error) {
	text, err := yaml.Marshal(r)
	return map[string]string{recordKey: string(text)}, err
}

func (r Record) find(o *unstructured.Unstructured) *Recorded {
	i := slices.IndexFunc(r.Objects, func(e Recorded) bool { return sameObject(e.object(), o) })
	if i < 0 {
		return nil
	}
	return &r.Objects[i]
}

func contains(all []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(all, func(other *unstructured.Unstructured) bool { return sameObject(other, o) })
}

func sameObject(a, b *unstructured.Unstructured) bool {
	return groupkind.Of(a) == groupkind.Of(b) && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// Contains reports whether the installation has created or changed a live object.
// A user who can edit the record can delete objects of its own namespace anyway; any other object has to
// name the installation as well, and so has one whose creation was interrupted before its uid was recorded.
func (r Record) Contains(live *unstructured.Unstructured) bool {
	switch e := r.find(live); {
	case e == nil || e.UID != "" && e.UID != live.GetUID():
		return false
	case e.UID != "" && e.Namespace == r.Namespace:
		return true
	case e.Created:
		return r.IsNamedBy(live)
	default: // It was changed, with the consent of the administrator.
		return e.UID != "" && written(live) && live.GetAnnotations()[wellknown.AnnotationInstallation] == ""
	}
}

// IsNamedBy reports whether an object names the installation as the one that created it.
func (r Record) IsNamedBy(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[wellknown.AnnotationInstallation] == r.name()
}

func (r Record) name() string { return r.Namespace + "/" + r.Package }

// Annotate returns the object to write. An object that the installation creates or has created names it.
func (r Record) Annotate(o, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live != nil && !r.IsNamedBy(live) {
		return o
	}
	o = o.DeepCopy()
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), map[string]string{wellknown.AnnotationInstallation: r.name()}))
	return o
}

// Has reports whether a ClusterServiceVersion is installed, or an interrupted command was about to install it.
func (r Record) Has(csv string) bool { return csv != "" && (csv == r.CSV || csv == r.Next) }

// Created reports whether the installation has created a live object.
func (r Record) Created(live *unstructured.Unstructured) bool {
	return r.Contains(live) && r.find(live).Created
}

// Add records an object before it is written, so that the record is complete after an interruption.
func (r *Record) Add(s Step) {
	e := r.find(s.Object)
	if s.Action != Create && s.Action != Overwrite || s.Contested {
		return
	}
	if e == nil {
		r.Objects = append(r.Objects, Recorded{Namespace: s.Object.GetNamespace(), Name: s.Object.GetName()})
		e = &r.Objects[len(r.Objects)-1]
	}
	e.APIVersion, e.Kind = s.Object.GetAPIVersion(), s.Object.GetKind()
	e.UID, e.Created = "", s.Action == Create
	if s.Live != nil {
		e.UID = s.Live.GetUID()
	}
}

// SetUID records the uid of an object that was written.
func (r *Record) SetUID(live *unstructured.Unstructured) {
	if e := r.find(live); e != nil {
		e.UID = live.GetUID()
	}
}

// Without returns the record without deleted objects. Changed reports whether it had one of them.
func (r Record) Without(deleted []*unstructured.Unstructured) (rest Record, changed bool) {
	rest = r
	rest.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(e Recorded) bool {
		return contains(deleted, e.object())
	})
	return rest, len(rest.Objects) < len(r.Objects)
}

// IsRecordName returns the package whose installation a ConfigMap of this name records.
func IsRecordName(name string) (packageName string, is bool) {
	return strings.CutPrefix(name, recordPrefix)
}

func (e Recorded) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(e.APIVersion)
	o.SetKind(e.Kind)
	o.SetNamespace(e.Namespace)
	o.SetName(e.Name)
	return o
}

func written(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == FieldManager })
}

// OtherManagers returns the other clients that have written a live object.
func OtherManagers(live *unstructured.Unstructured) []string {
	return lists.Distinct(lists.FilterMap(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) (string, bool) {
		return m.Manager, m.Manager != FieldManager && m.Subresource == ""
	}))
}

// IsRecord reports whether an object has a record's name. A bundle with one would control what a later command removes.
func IsRecord(o *unstructured.Unstructured) bool {
	_, is := IsRecordName(o.GetName())
	return is && groupkind.Is(o, groupkind.ConfigMap)
}
