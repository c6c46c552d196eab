package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/reporter"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// finalize takes the webhooks of a ClusterServiceVersion out of service, and then
// lets it go. Webhooks come first: once their backends go, they could refuse the
// rest. So do APIServices: one that nobody serves keeps Namespaces from being deleted, because
// nobody can tell what is in them. Namespaced objects follow by garbage collection.
//
// What to remove is asked of the API server, not of the caches: one that does not
// show yet what was just created would leave it behind for ever.
//
// A version that replaces another and goes before that one does gives it back what it
// took over.
func (c *Controller) finalize(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (time.Time, error) {
	if !slices.Contains(csv.Finalizers, wellknown.FinalizerCSV) {
		return time.Time{}, nil
	}
	var heir *operatorsv1alpha1.ClusterServiceVersion
	var backends owners.Backends
	if csv.DeletionTimestamp != nil && len(relatives.Older) > 0 {
		var err error
		if backends, err = c.live.Backends(ctx, csv); err != nil {
			return time.Time{}, err
		}
		heir = relatives.Heir(backends.Installed)
	}
	ownership, err := c.live.OwnershipOf(ctx, csv)
	if err != nil {
		return time.Time{}, err
	}
	if err := c.uninstall.Unregister(ctx, csv, heir, backends, ownership); err != nil {
		return time.Time{}, err
	}
	inUse, err := c.endConversions(ctx, k, csv, converters(relatives, backends))
	if err != nil {
		return time.Time{}, err
	}
	if inUse != "" {
		return c.holdUp(ctx, k, csv, relatives, inUse)
	}
	c.log.WithFields(k.Fields()).Info("webhooks are unregistered")
	if csv.DeletionTimestamp == nil {
		return time.Time{}, nil // its Namespace is terminating and will delete it
	}
	return time.Time{}, c.uninstall.Finish(ctx, csv, heir, c.keeps(csv, relatives), ownership)
}

// countPause is how often to look whether the objects that hold up an uninstallation
// are gone: the manager does not watch them.
const countPause = 15 * time.Second

// converters are the versions that go on with the conversions of one that is deleted: newer ones, and
// older ones that have a backend of their own. An older one that was never installed could not.
func converters(relatives lineage.Lineage, backends owners.Backends) []*operatorsv1alpha1.ClusterServiceVersion {
	older := slices.DeleteFunc(slices.Clone(relatives.Older), func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return !backends.ServesAny(c) })
	return append(older, relatives.Newer...)
}

// endConversions takes the CustomResourceDefinitions back to no conversion. Where
// objects would lose fields, the finalizer stays, and with it what converts them.
//
// Those that another version of the operator converts, or will, are not ended. It says
// which are in use.
func (c *Controller) endConversions(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives []*operatorsv1alpha1.ClusterServiceVersion) (inUse string, err error) {
	crds := c.gather.Convertible(csv, []string{informers.OwnerID(csv.Namespace, csv.Name)})
	for _, relative := range relatives {
		if relative.DeletionTimestamp == nil {
			maps.DeleteFunc(crds, func(name string, _ *apiextensionsv1.CustomResourceDefinition) bool {
				return csvspec.Converts(relative, name) >= 0
			})
		}
	}
	definitions, objects := slices.Collect(maps.Values(crds)), map[string]int{}
	services := owners.Converters(csv, c.caches.Services.In(csv.Namespace), definitions)
	for {
		end := conversion.EndAll(csv.Namespace, services, definitions, objects, csv.Annotations[wellknown.AnnotationForceConversion] == "true")
		if len(end.Count) > 0 {
			c.live.CountObjects(ctx, crds, end.Count, objects)
			continue
		}
		for _, step := range rollout.EndConversionSteps(end.CRDs) {
			written, _, err := c.writer.Send(ctx, csv.Namespace, step)
			if err != nil {
				return "", err
			}
			c.writes.Add(k, informers.Write{Object: written, At: c.now()})
		}
		return end.InUse, nil
	}
}

// holdUp is the pass over a ClusterServiceVersion that cannot go yet. It may take long, so
// the certificates of what objects need are replaced as ever.
func (c *Controller) holdUp(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, inUse string) (time.Time, error) {
	again := c.now().Add(countPause)
	terminating := c.versions.IsTerminating(csv.Namespace)
	if terminating {
		inUse = phase.NamespaceDeleted(inUse)
	}
	current := c.caches.Rollouts.Get(csv.Namespace, csv.Name)
	details := ""
	if current != nil || !terminating {
		details = rollout.DescribeCommand(csv)
	}
	if err := c.reportHeld(ctx, k, csv, inUse, details); err != nil {
		return time.Time{}, err
	}
	if current == nil && terminating {
		return again, nil // nothing can be created there any more
	}
	if current == nil {
		var err error
		if current, err = c.reporter.CreateRollout(ctx, k, csv); err != nil {
			return time.Time{}, err
		}
	}
	status := *current.Status.DeepCopy()
	var unanswered error
	if c.versions.SuccessorOf(relatives) == nil && !terminating { // else that one looks after it, or nobody can
		s, err := c.gather.Gather(ctx, csv, relatives)
		if err != nil {
			return time.Time{}, err
		}
		s.Deleting = true
		if err := c.keep(ctx, s); err != nil {
			return time.Time{}, err
		}
		plan, err := c.executor.Run(ctx, k, s)
		if err != nil {
			return time.Time{}, err
		}
		status, again, unanswered = plan.Status, reporter.Earliest(again, plan.Requeue.At), s.Unanswered
	}
	rollout.SetConversionInUse(&status, inUse, csv.Generation, c.now())
	return again, cmp.Or(c.reporter.UpdateRollout(ctx, k, csv, current, status), unanswered)
}

// reportHeld says in the ClusterServiceVersion itself what it waits for: of its Namespace, when that is
// being deleted, it may be all that is left.
func (c *Controller) reportHeld(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, inUse, details string) error {
	held := &gather.Snapshot{Facts: decide.Facts{CSV: csv, Verdict: requirements.Verdict{Requirements: csv.Status.RequirementStatus}, DuePending: true}}
	return c.reporter.UpdateCSV(ctx, k, held, phase.DeletionBlocked(csv.Status, inUse, details), managerv1alpha1.WebhookRolloutStatus{})
}
