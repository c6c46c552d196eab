package operators

import (
	"context"
	"slices"

	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators/component"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// reconcileSubscription labels a Subscription, the ClusterServiceVersion that it installed, and its latest InstallPlan.
// Earlier InstallPlans lose the label. An InstallPlan that is executed is not changed.
func (c *Controller) reconcileSubscription(ctx context.Context, object cache.ObjectName) error {
	s := c.own.subscriptions.Get(object.Namespace, object.Name)
	if s == nil || s.Spec == nil || s.Spec.Package == "" {
		c.subscriptionProblems.Forget(object)
		return nil
	}
	l := &labeller{Controller: c, loop: c.subscriptions, object: object}
	if label := labelOf(s); label != "" {
		l.add(ctx, c.kinds.of(subscriptions), s, label)
		if csv := c.caches.CSVs.Get(s.Namespace, s.Status.InstalledCSV); csv != nil && !csv.IsCopied() {
			l.add(ctx, c.kinds.of(serviceVersions), csv, label)
		}
		c.labelPlans(ctx, l, s, label)
	}
	c.subscriptionProblems.Report(object, s, l.problems)
	return l.err()
}

func (c *Controller) labelPlans(ctx context.Context, l *labeller, s *operatorsv1alpha1.Subscription, label string) {
	if s.Status.InstallPlanRef == nil {
		return
	}
	k := c.kinds.of(installPlans)
	for _, plan := range c.caches.Plans.In(s.Namespace) {
		switch {
		case component.IsExecuted(plan): // the change of its phase is an event
		case c.isLatest(plan, label):
			l.add(ctx, k, plan, label)
		default:
			l.remove(ctx, k, plan, label)
		}
	}
}

// isLatest reports whether a Subscription with a label names an InstallPlan. A package can have several Subscriptions.
func (c *Controller) isLatest(plan *operatorsv1alpha1.InstallPlan, label string) bool {
	return slices.ContainsFunc(c.own.subscriptions.By(byPlan, cache.MetaObjectToName(plan).String()), func(s *operatorsv1alpha1.Subscription) bool {
		return labelOf(s) == label
	})
}

// labelOf is empty for a Subscription without a package, or whose Operator no label can name.
func labelOf(s *operatorsv1alpha1.Subscription) string {
	if s.Spec == nil || s.Spec.Package == "" {
		return ""
	}
	return component.Label(component.Operator(s.Spec.Package, s.Namespace))
}

// reconcileVersion gives the objects of a ClusterServiceVersion the component labels that it has.
func (c *Controller) reconcileVersion(ctx context.Context, object cache.ObjectName) error {
	csv := c.caches.CSVs.Get(object.Namespace, object.Name)
	if csv == nil || csv.IsCopied() || csvspec.IsGivenBack(csv) || len(component.OperatorsOf(csv.Labels)) == 0 {
		c.versionProblems.Forget(object)
		return nil
	}
	l := &labeller{Controller: c, loop: c.versions, object: object}
	for _, o := range c.componentsOf(csv) {
		l.add(ctx, o.kind, o.Object, component.Missing(csv.Labels, o.GetLabels())...)
	}
	c.versionProblems.Report(object, csv, l.problems)
	return l.err()
}

type member struct {
	kind kind
	drift.Object
}

// componentsOf returns the derived objects that belong to a ClusterServiceVersion, and the definitions that it provides.
// Owner labels alone are no proof.
func (c *Controller) componentsOf(csv *operatorsv1alpha1.ClusterServiceVersion) (all []member) {
	ownership := c.apis.Ownership(csv)
	ownership.Planned = owners.InstallPlanObjects(csv, lists.Map(c.caches.Plans.In(csv.Namespace), func(plan *operatorsv1alpha1.InstallPlan) operatorsv1alpha1.InstallPlan { return *plan }))
	for _, k := range c.kinds {
		for _, o := range k.by(informers.ByOwner, informers.OwnerID(csv.Namespace, csv.Name)) {
			if k.resource != serviceVersions && csvspec.IsManaged(o) && ownership.Proves(o) {
				all = append(all, member{k, o})
			}
		}
	}
	provided := map[string]member{} // several versions of one
	for _, d := range c.apis.Definitions(csv) {
		if d.Refused == "" {
			provided[d.Name] = member{c.kinds.of(definitions), d.CustomResourceDefinition}
		}
	}
	return append(all, lists.ByKey(provided)...)
}
