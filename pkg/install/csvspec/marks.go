package csvspec

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// The server-side selectors of copies, and of all other CSVs.
const (
	SelectLabelled   = operatorsv1alpha1.CopiedLabelKey
	SelectUnlabelled = "!" + operatorsv1alpha1.CopiedLabelKey
)

// Marks are the metadata that distinguish a copy of a ClusterServiceVersion (CSV) from an original.
type Marks struct {
	// Labelled is set if the CSV has the label of copies.
	Labelled bool
	// CopiedFrom is the value of this label, the namespace of the original.
	CopiedFrom string
	// OperatorNamespace is the namespace of the OperatorGroup, by its annotation.
	OperatorNamespace string
	// Copied is the state of the original that the manager copied; empty unless the manager wrote the copy.
	Copied string
	// Finalized is set if the CSV has the finalizer. OLM v0 and the manager add it to originals only.
	Finalized bool
	// HasStatus is set if a client has written the status.
	HasStatus bool
	// ByManager is set if no client has written the CSV after the manager, within the resolution of a second.
	ByManager bool
}

// MarksOf returns the marks of a CSV. Its managed fields must be complete.
func MarksOf(csv metav1.Object) Marks {
	from, labelled := csv.GetLabels()[operatorsv1alpha1.CopiedLabelKey]
	return Marks{
		Labelled:          labelled,
		CopiedFrom:        from,
		OperatorNamespace: csv.GetAnnotations()[operatorsv1.OperatorGroupNamespaceAnnotationKey],
		Copied:            csv.GetAnnotations()[wellknown.AnnotationCopiedState],
		Finalized:         slices.Contains(csv.GetFinalizers(), wellknown.FinalizerCSV),
		HasStatus: slices.ContainsFunc(csv.GetManagedFields(), func(w metav1.ManagedFieldsEntry) bool {
			return w.Subresource == "status"
		}),
		ByManager: writtenLastBy(wellknown.FieldManager, csv.GetManagedFields()),
	}
}

// HasEnded reports whether the manager has completed the end of a deleted CSV: only finalizers of other clients keep it.
func HasEnded(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return csv.DeletionTimestamp != nil && !slices.Contains(csv.Finalizers, wellknown.FinalizerCSV)
}

func writtenLastBy(manager string, writes []metav1.ManagedFieldsEntry) bool {
	var last time.Time
	by := false
	for _, w := range writes {
		if w.Time == nil {
			return false
		}
		switch at := w.Time.Time; {
		case at.After(last):
			last, by = at, w.Manager == manager
		case at.Equal(last):
			by = by && w.Manager == manager
		}
	}
	return by
}

// DisguiseOriginal reports whether the marks make an original look like a copy. namespace is that of the CSV. recorded is
// set if the manager has a record of this CSV, which it has of originals only.
func (m Marks) DisguiseOriginal(namespace string, recorded bool) bool {
	elsewhere := m.OperatorNamespace != "" && m.OperatorNamespace != namespace
	if recorded {
		return m.Finalized && (m.Labelled || elsewhere)
	}
	return m.Finalized && m.Labelled && m.Copied == "" && !elsewhere
}
