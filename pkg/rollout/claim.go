package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// Claim is what a ClusterServiceVersion has for a right to an object that bears a name which it needs.
type Claim struct {
	// Versions are the ClusterServiceVersion and those that it replaces.
	Versions []*operatorsv1alpha1.ClusterServiceVersion
	// Exists tells whether there is a ClusterServiceVersion, by namespace/name as its labels say it.
	Exists func(owner string) bool
	// Calls tells whether a Service of its namespace is its own.
	Calls func(service string) bool
}

// Refusal says why an object cannot be made the ClusterServiceVersion's; empty when it can.
// Objects without an owner are taken over, as OLM v0 does, but for Services, of which
// authors ship their own, and APIServices, by which requests are somebody else's.
func (c Claim) Refusal(o Object) string {
	if api, ok := o.(*apiregistrationv1.APIService); ok {
		return c.apiServiceRefusal(api)
	}
	other := ""
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind {
			continue
		}
		if slices.ContainsFunc(c.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == owner.Name }) {
			return ""
		}
		first(&other, owner.Name)
	}
	_, service := o.(*corev1.Service)
	switch {
	case other != "":
		return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first, or give one of them another name", KeyOf(o), other)
	case service && !install.Managed(o):
		return fmt.Sprintf("%s is not the manager's", KeyOf(o))
	default:
		return ""
	}
}

// apiServiceRefusal goes by labels, since what is cluster-scoped has no owner. One whose owner is gone
// is nobody's.
func (c Claim) apiServiceRefusal(live *apiregistrationv1.APIService) string {
	called := live.Spec.Service
	switch owner := c.owner(live); {
	case c.hasInHand(live):
		return ""
	case called == nil:
		return fmt.Sprintf("%s is what the API server serves itself: the group and the version in spec.apiservicedefinitions.owned must be others", KeyOf(live))
	case owner != "":
		return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first", KeyOf(live), owner)
	case live.Labels[vocabulary.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind, called.Namespace == c.Versions[0].Namespace && c.Calls(called.Name):
		return ""
	default:
		return fmt.Sprintf("%s exists, and no ClusterServiceVersion owns it: API servers send its requests to Service %s/%s; delete it first", KeyOf(live), called.Namespace, called.Name)
	}
}

// OfDelegation tells whether a binding by which servers of APIServices ask who calls them is the
// ClusterServiceVersion's, or was made for its namespace by one that is gone.
func (c Claim) OfDelegation(binding Object) bool {
	return c.hasInHand(binding) || install.DelegatesTo(binding, c.Versions[0].Namespace) && c.owner(binding) == ""
}

// hasInHand tells whether an object bears the labels of one of the versions.
func (c Claim) hasInHand(o Object) bool {
	return slices.ContainsFunc(c.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return install.Labelled(o, csv) })
}

// owner is the ClusterServiceVersion whose labels an object bears, as namespace/name; empty when
// it is gone.
func (c Claim) owner(o Object) string {
	labels := o.GetLabels()
	id := labels[vocabulary.LabelOwnerNamespace] + "/" + labels[vocabulary.LabelOwner]
	if labels[vocabulary.LabelOwnerKind] != operatorsv1alpha1.ClusterServiceVersionKind || !c.Exists(id) {
		return ""
	}
	return id
}
