// Package adoption decides whether an existing object may become an object of a ClusterServiceVersion.
package adoption

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Adopter is a ClusterServiceVersion that needs the name of an existing object.
type Adopter struct {
	// Versions are the ClusterServiceVersion and the versions that it replaces.
	Versions []*operatorsv1alpha1.ClusterServiceVersion
	// Exists reports whether a ClusterServiceVersion exists, by namespace/name as in labels.
	Exists func(owner string) bool
	// Calls reports whether a Service of the namespace belongs to the ClusterServiceVersion.
	Calls func(service string) bool
	// Proves reports whether more than labels shows ownership; nil if that is known.
	Proves func(o drift.Object) bool
}

// Refusal returns why an object cannot be adopted; empty if it can. Objects without an owner are adopted as by
// OLM v0, except Services and PodDisruptionBudgets, which authors ship, objects for issuers, and APIServices, which redirect
// requests.
func (a Adopter) Refusal(o drift.Object) string {
	if api, ok := o.(*apiregistrationv1.APIService); ok {
		return a.apiServiceRefusal(api)
	}
	budget, isBudget := o.(*policyv1.PodDisruptionBudget)
	other := ""
	for _, owner := range o.GetOwnerReferences() {
		if !groupkind.IsOwner(owner, groupkind.ClusterServiceVersion) {
			continue
		}
		if slices.ContainsFunc(a.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == owner.Name }) {
			if isBudget && budget.Annotations[wellknown.AnnotationBudgetFor] == "" {
				break // the bundle's own
			}
			return a.takenOver(o)
		}
		if other == "" {
			other = owner.Name
		}
	}
	_, service := o.(*corev1.Service)
	_, issuerObject := o.(*unstructured.Unstructured)
	switch {
	case other != "":
		return belongsTo(o, other)
	case isBudget:
		return fmt.Sprintf("%s is not the manager's: delete it, or remove the annotation", drift.KeyOf(o))
	case service && !csvspec.IsManaged(o):
		return fmt.Sprintf("%s is not the manager's", drift.KeyOf(o))
	case issuerObject && !csvspec.IsManaged(o):
		return fmt.Sprintf("%s is not the manager's: delete it, or choose another provider of certificates", drift.KeyOf(o))
	default:
		return ""
	}
}

// IsTakenOver reports whether an object's labels name an existing version of another operator.
func (a Adopter) IsTakenOver(o drift.Object) bool { return a.takenOver(o) != "" }

// takenOver compares names in labels: the uid changes when a version is recreated, and other labels may be lost.
func (a Adopter) takenOver(o drift.Object) string {
	holder := a.owner(o)
	own := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return ownerIn(csvspec.OwnerLabels(csv)) == holder
	}
	if holder == "" || slices.ContainsFunc(a.Versions, own) {
		return ""
	}
	return belongsTo(o, holder)
}

func belongsTo(o drift.Object, csv string) string {
	return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first, or give one of them another name", drift.KeyOf(o), csv)
}

// A cluster-scoped object has no owner reference: the called Service and labels decide.
func (a Adopter) apiServiceRefusal(live *apiregistrationv1.APIService) string {
	called := live.Spec.Service
	switch owner := a.owner(live); {
	case a.owns(live):
		return ""
	case called == nil:
		return fmt.Sprintf("%s is what the API server serves itself: the group and the version in spec.apiservicedefinitions.owned must be others", drift.KeyOf(live))
	case a.hasOwnerLabels(live):
		return fmt.Sprintf("%s has the labels of this ClusterServiceVersion and sends requests to Service %s/%s, which is not its own: delete the APIService first", drift.KeyOf(live), called.Namespace, called.Name)
	case owner != "":
		return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first", drift.KeyOf(live), owner)
	case orphaned(live), called.Namespace == a.Versions[0].Namespace && a.Calls(called.Name):
		return ""
	default:
		return fmt.Sprintf("%s exists, and no ClusterServiceVersion owns it: API servers send its requests to Service %s/%s; delete it first", drift.KeyOf(live), called.Namespace, called.Name)
	}
}

// Labels alone do not show that the owner is deleted: the called Service must be in its namespace.
func orphaned(live *apiregistrationv1.APIService) bool {
	return live.Labels[wellknown.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind && live.Labels[wellknown.LabelOwnerNamespace] == live.Spec.Service.Namespace
}

// OwnsDelegation includes bindings of a deleted version of the namespace.
func (a Adopter) OwnsDelegation(binding drift.Object) bool {
	return a.owns(binding) || permissions.DelegatesTo(binding, a.Versions[0].Namespace) && a.owner(binding) == ""
}

func (a Adopter) owns(o drift.Object) bool {
	return a.hasOwnerLabels(o) && (a.Proves == nil || a.Proves(o))
}

// Owner labels prove nothing.
func (a Adopter) hasOwnerLabels(o drift.Object) bool {
	return slices.ContainsFunc(a.Versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasOwnerLabels(o, csv) })
}

// owner returns namespace/name; empty for none.
func (a Adopter) owner(o drift.Object) string {
	labels := o.GetLabels()
	id := ownerIn(labels)
	if labels[wellknown.LabelOwnerKind] != operatorsv1alpha1.ClusterServiceVersionKind || !a.Exists(id) {
		return ""
	}
	return id
}

// ownerIn returns the owner in labels, as namespace/name. Labels shorten a long name.
func ownerIn(labels map[string]string) string {
	return labels[wellknown.LabelOwnerNamespace] + "/" + labels[wellknown.LabelOwner]
}
