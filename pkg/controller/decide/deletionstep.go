package decide

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
)

// Deletion is the state of a deleted ClusterServiceVersion after an attempt to end its registrations and conversions.
type Deletion struct {
	InUse   bool // objects need a conversion
	Refused bool // the API server refused to end a registration or a conversion
	// ByNamespace is true while its Namespace is being deleted and has not deleted the ClusterServiceVersion yet.
	ByNamespace bool
	// Wait is for the API servers that may call what has ended; nil if nothing waits for them, or if the manager started later.
	Wait *ending.Wait
}

// DeletionStep is what follows in a deletion.
type DeletionStep int

// The steps of a deletion.
const (
	ReportBlocked DeletionStep = iota
	AwaitDeletionTimestamp
	AskAboutEnd
	AwaitAPIServers
	RemoveFinalizer
)

// Next returns the step of a deletion, and when AwaitAPIServers ends.
func (d Deletion) Next(now time.Time) (DeletionStep, rollout.Requeue) {
	switch {
	case d.InUse || d.Refused:
		return ReportBlocked, rollout.Requeue{}
	case d.ByNamespace:
		return AwaitDeletionTimestamp, rollout.Requeue{}
	case d.Wait == nil:
		return RemoveFinalizer, rollout.Requeue{}
	}
	switch wait := d.Wait.Decide(now); wait.State {
	case ending.Unasked:
		return AskAboutEnd, rollout.Requeue{}
	case ending.Lasts:
		return AwaitAPIServers, rollout.Requeue{At: wait.Until, Reason: wait.Reason}
	default:
		return RemoveFinalizer, rollout.Requeue{}
	}
}

// Behind returns the API servers that a deletion waits for; none while they are not asked.
func (d Deletion) Behind() []string {
	if d.Wait == nil || d.Wait.Found == nil {
		return nil
	}
	return d.Wait.Found.Behind
}

// Converters returns the versions that continue conversions: newer ones, and older ones with a backend.
func Converters(relatives lineage.Lineage, backends owners.Backends) []*operatorsv1alpha1.ClusterServiceVersion {
	older := slices.DeleteFunc(slices.Clone(relatives.Older), func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return !backends.ServesAny(c) })
	return append(older, relatives.Newer...)
}

// OwnedByDefinitions reports whether definitions own objects of a deleted version that no other version adopts.
func OwnedByDefinitions(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, owned map[owners.Kind][]metav1.Object) bool {
	// A newer version that has begun may not have adopted the Deployment yet.
	if !relatives.Superseded() && slices.ContainsFunc(relatives.Newer, func(newer *operatorsv1alpha1.ClusterServiceVersion) bool {
		return newer.DeletionTimestamp == nil && owners.ConvertsLike(newer, csv)
	}) {
		return false
	}
	for _, objects := range owned {
		if slices.ContainsFunc(objects, owners.HasDefinitionOwner) {
			return true
		}
	}
	return len(csvspec.ConversionCRDs(csv)) > 0
}
