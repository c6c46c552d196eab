package copies

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// reconcileOriginal adds the copies of a ClusterServiceVersion that are not as desired. It writes nothing.
func (c *Controller) reconcileOriginal(_ context.Context, original cache.ObjectName) error {
	if c.caches.CSVs.Get(original.Namespace, original.Name) == nil {
		c.states.forget(original)
	}
	for namespace := range c.concerned(original) {
		name := cache.NewObjectName(namespace, original.Name)
		if decision := plan.Decide(c.facts(name)); decision.Verb != plan.Keep {
			c.setPending(name, decision.Counts)
			c.copies.Add(name)
		}
	}
	return nil
}

// concerned returns the namespaces that have, or may need, a copy of a ClusterServiceVersion.
func (c *Controller) concerned(original cache.ObjectName) map[string]bool {
	namespaces := map[string]bool{}
	for _, existing := range c.caches.Copies.By(byName, original.Name) {
		namespaces[existing.Namespace] = true
	}
	if c.caches.CSVs.Get(original.Namespace, original.Name) != nil {
		for _, namespace := range c.targets(original.Namespace) {
			namespaces[namespace] = true
		}
	}
	return namespaces
}

// targets returns the namespaces that the OperatorGroup of a namespace targets, without that namespace.
func (c *Controller) targets(namespace string) []string {
	groups := c.caches.Groups.In(namespace)
	var all []*corev1.Namespace
	if _, needed := scope.Named(groups); needed {
		all = c.caches.Namespaces.All()
	}
	found, failure := scope.ForNamespace(namespace, groups, all)
	if failure != nil {
		return nil
	}
	targets := slices.Clone(found.Namespaces)
	if slices.Contains(targets, metav1.NamespaceAll) {
		targets = lists.Map(c.caches.Namespaces.All(), func(n *corev1.Namespace) string { return n.Name })
	}
	return slices.DeleteFunc(targets, func(target string) bool { return target == namespace })
}

func (c *Controller) facts(name cache.ObjectName) plan.Facts {
	facts := plan.Facts{
		Namespace:  c.caches.Namespaces.Get("", name.Namespace),
		Managed:    c.caches.Manages,
		Everywhere: c.olmConfig.everywhere(),
		Protected:  slices.Contains(c.protected, name.Namespace),
		Written:    c.written.of(name, c.now()),
		Deleted:    c.written.isDeleted(name),
	}
	if facts.Namespace == nil {
		return facts
	}
	facts.Copy, facts.Original = c.existing(name)
	if facts.Original {
		return facts // An original needs no candidates, of which there is one for each namespace with the operator.
	}
	for _, csv := range c.originalsNamed(name.Name) {
		if csv.Namespace == name.Namespace {
			continue
		}
		covers, all := scope.Covers(c.caches.Groups.In(csv.Namespace), facts.Namespace)
		facts.Candidates = append(facts.Candidates, plan.Candidate{CSV: csv, State: c.states.of(csv), Covers: covers, Everywhere: all})
	}
	facts.Hidden = facts.Copy != nil && c.isHidden(cache.NewObjectName(facts.Copy.CopiedFrom, name.Name))
	return facts
}

// isHidden reports whether a ClusterServiceVersion with the finalizer of originals has marks of a copy.
func (c *Controller) isHidden(original cache.ObjectName) bool {
	if labelled := c.caches.Copies.Get(original.Namespace, original.Name); labelled != nil {
		return labelled.Finalized
	}
	csv := c.caches.CSVs.Get(original.Namespace, original.Name)
	return csv != nil && csv.IsCopied() && csvspec.MarksOf(csv).Finalized
}

// existing returns a copy, or whether an original has the name. A copy whose label another client removed is in the cache
// of originals.
func (c *Controller) existing(name cache.ObjectName) (found *plan.Copy, original bool) {
	if o := c.caches.Copies.Get(name.Namespace, name.Name); o != nil {
		return &plan.Copy{UID: o.UID, ResourceVersion: o.ResourceVersion, Deleting: o.DeletionTimestamp != nil, Marks: o.Marks}, false
	}
	csv := c.caches.CSVs.Get(name.Namespace, name.Name)
	if csv == nil || !plan.ProvesCopy(csv) {
		return nil, csv != nil
	}
	marks := csvspec.MarksOf(csv)
	marks.CopiedFrom = marks.OperatorNamespace
	return &plan.Copy{UID: csv.UID, ResourceVersion: csv.ResourceVersion, Deleting: csv.DeletionTimestamp != nil, Marks: marks, Proven: true}, false
}

// reconcileCopy writes one copy.
func (c *Controller) reconcileCopy(ctx context.Context, name cache.ObjectName) error {
	facts := c.facts(name)
	decision := plan.Decide(facts)
	if decision.Verb == plan.Keep {
		c.keep(name, facts)
		return nil
	}
	c.setPending(name, decision.Counts)
	if until, why := c.pausedUntil(name, decision); !until.IsZero() {
		c.log.WithField("copy", name.String()).Debug(why)
		c.copies.AddAfter(name, until.Sub(c.now()))
		return nil
	}
	return c.concluded(name, decision, c.carryOut(ctx, name, facts, decision))
}

// keep forgets what concerns a copy that does not exist, and repeats a decision that waits for the caches.
func (c *Controller) keep(name cache.ObjectName, facts plan.Facts) {
	c.setPending(name, false)
	switch {
	case facts.Copy != nil:
	case facts.Written.Unseen && facts.Namespace != nil:
		c.copies.AddAfter(name, unseenFor)
	default: // It may be the last event: the deletion of a Namespace adds no copies.
		c.written.forget(name)
	}
}
