package decide

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// definitionOwnerSteps also removes owners where nothing converts any more, and from what is given back: olm-operator relies
// on garbage collection. Only the active version writes.
func (d *decision) definitionOwnerSteps() []rollout.Step {
	if len(d.Upgrade.From) > 0 && !d.Upgrade.Started {
		return nil
	}
	converters := d.Observed.Deployments
	if csvspec.TakeoverOrder(d.CSV) == wellknown.TakeoverGiveBack {
		converters = nil
	}
	desired := owners.DefinitionOwnersOf(d.CSV, converters, d.serviceNames(d.CSV), d.Observed.CRDs)
	bindings := lists.Map(d.Owned[owners.RoleBindings], func(o metav1.Object) *rbacv1.RoleBinding { return o.(*rbacv1.RoleBinding) })
	var steps []rollout.Step
	for _, kind := range owners.Kinds {
		for _, o := range d.Owned[kind] {
			references, differ := desired.Owners(kind.Name, o, bindings)
			key, fields := rollout.OwnersKey(kind.Name, o), map[string]string{"metadata.ownerReferences": uidsOf(references)}
			if !differ || d.carriedOut(key) {
				continue
			}
			if held, _ := d.FieldContests[key].Held(fields, d.now); len(held) > 0 {
				d.Observed.Contests[key] = d.FieldContests[key].Repairs
				continue
			}
			steps = append(steps, patch(withOwners(kind, o, references), withOwners(kind, o, o.GetOwnerReferences()), fields))
		}
	}
	return steps
}

func withOwners(kind owners.Kind, o metav1.Object, references []metav1.OwnerReference) *metav1.PartialObjectMetadata {
	gvk := kind.Resource.GroupVersion().WithKind(kind.Name)
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), OwnerReferences: references,
		},
	}
}

func uidsOf(references []metav1.OwnerReference) string {
	uids := lists.Map(references, func(owner metav1.OwnerReference) string { return string(owner.UID) })
	slices.Sort(uids)
	return strings.Join(uids, " ")
}
