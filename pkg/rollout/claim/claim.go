// Package claim decides whether an existing object may become an object of a ClusterServiceVersion.
package claim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Claim is what a ClusterServiceVersion has for a right to an object that bears a name which it needs.
type Claim struct {
	// Versions are the ClusterServiceVersion and those that it replaces.
	Versions []*operatorsv1alpha1.ClusterServiceVersion
	// Exists tells whether there is a ClusterServiceVersion, by namespace/name as its labels say it.
	Exists func(owner string) bool
	// Calls tells whether a Service of its namespace is its own.
	Calls func(service string) bool
	// Proves tells whether more than labels says that an object belongs to the versions; nil where that is
	// known already.
	Proves func(o drift.Object) bool
}

// Refusal says why an object cannot be made the ClusterServiceVersion's; empty when it can.
// Objects without an owner are taken over, as OLM v0 does, but for Services, of which
// authors ship their own, and APIServices, by which requests are somebody else's.
func (c Claim) Refusal(o drift.Object) string {
	if api, ok := o.(*apiregistrationv1.APIService); ok {
		return c.apiServiceRefusal(api)
	}
	other := ""
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind {
			continue
		}
		if slices.ContainsFunc(c.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == owner.Name }) {
			return c.takenOver(o)
		}
		if other == "" {
			other = owner.Name
		}
	}
	_, service := o.(*corev1.Service)
	switch {
	case other != "":
		return belongsTo(o, other)
	case service && !csvspec.IsManaged(o):
		return fmt.Sprintf("%s is not the manager's", drift.KeyOf(o))
	default:
		return ""
	}
}

// takenOver says which version of another operator has taken over an object that one of the versions
// owns still; empty when none has. It goes by the name in the labels: one of the versions may have been
// created again with another uid, and another client may have removed some of the labels.
func (c Claim) takenOver(o drift.Object) string {
	holder := c.owner(o)
	own := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return ownerIn(csvspec.OwnerLabels(csv)) == holder
	}
	if holder == "" || slices.ContainsFunc(c.Versions, own) {
		return ""
	}
	return belongsTo(o, holder)
}

func belongsTo(o drift.Object, csv string) string {
	return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first, or give one of them another name", drift.KeyOf(o), csv)
}

// apiServiceRefusal goes by labels, since what is cluster-scoped has no owner. One whose owner is gone
// is nobody's.
func (c Claim) apiServiceRefusal(live *apiregistrationv1.APIService) string {
	called := live.Spec.Service
	switch owner := c.owner(live); {
	case c.owns(live):
		return ""
	case called == nil:
		return fmt.Sprintf("%s is what the API server serves itself: the group and the version in spec.apiservicedefinitions.owned must be others", drift.KeyOf(live))
	case c.hasOwnerLabels(live):
		return fmt.Sprintf("%s bears the labels of this ClusterServiceVersion and sends requests to Service %s/%s, which is not its own: delete the APIService first", drift.KeyOf(live), called.Namespace, called.Name)
	case owner != "":
		return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first", drift.KeyOf(live), owner)
	case orphaned(live), called.Namespace == c.Versions[0].Namespace && c.Calls(called.Name):
		return ""
	default:
		return fmt.Sprintf("%s exists, and no ClusterServiceVersion owns it: API servers send its requests to Service %s/%s; delete it first", drift.KeyOf(live), called.Namespace, called.Name)
	}
}

// orphaned tells whether an APIService calls a Service of the namespace of the ClusterServiceVersion
// that its labels name, which is gone: labels alone do not make an APIService free.
func orphaned(live *apiregistrationv1.APIService) bool {
	return live.Labels[wellknown.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind && live.Labels[wellknown.LabelOwnerNamespace] == live.Spec.Service.Namespace
}

// OwnsDelegation tells whether a binding by which servers of APIServices ask who calls them is the
// ClusterServiceVersion's, or was made for its namespace by one that is gone.
func (c Claim) OwnsDelegation(binding drift.Object) bool {
	return c.owns(binding) || permissions.DelegatesTo(binding, c.Versions[0].Namespace) && c.owner(binding) == ""
}

// owns tells whether an object belongs to one of the versions.
func (c Claim) owns(o drift.Object) bool {
	return c.hasOwnerLabels(o) && (c.Proves == nil || c.Proves(o))
}

// hasOwnerLabels tells whether an object bears the labels of one of the versions, which proves nothing.
func (c Claim) hasOwnerLabels(o drift.Object) bool {
	return slices.ContainsFunc(c.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasOwnerLabels(o, csv) })
}

// owner is the ClusterServiceVersion whose labels an object bears, as namespace/name; empty when
// it is gone.
func (c Claim) owner(o drift.Object) string {
	labels := o.GetLabels()
	id := ownerIn(labels)
	if labels[wellknown.LabelOwnerKind] != operatorsv1alpha1.ClusterServiceVersionKind || !c.Exists(id) {
		return ""
	}
	return id
}

// ownerIn is the owner that labels name, as namespace/name. A long name is shortened in labels.
func ownerIn(labels map[string]string) string {
	return labels[wellknown.LabelOwnerNamespace] + "/" + labels[wellknown.LabelOwner]
}
