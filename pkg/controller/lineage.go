package controller

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// lineage finds the other versions of an operator.
func (c *versions) lineage(csv *operatorsv1alpha1.ClusterServiceVersion) lineage.Lineage {
	return lineage.Of(csv, c.relativesIn(csv.Namespace))
}

// relativesIn finds versions of the operators in a namespace.
func (c *versions) relativesIn(namespace string) lineage.Namespace {
	return lineage.Namespace{
		Named: func(name string) *operatorsv1alpha1.ClusterServiceVersion {
			return c.caches.CSVs.Get(namespace, name)
		},
		Replacing: func(name string) []*operatorsv1alpha1.ClusterServiceVersion {
			return c.caches.CSVs.By(informers.ByReplaced, namespace+"/"+name)
		},
		TookFrom: c.tookFrom,
		TakenBy:  c.takenBy,
	}
}

// tookFrom are the versions that still own a Deployment which a ClusterServiceVersion has taken over.
func (c *versions) tookFrom(csv *operatorsv1alpha1.ClusterServiceVersion) (versions []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, d := range c.caches.Deployments.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		if !csvspec.OwnedBy(d, csv) {
			continue
		}
		for _, other := range c.coOwners(d, csv) {
			if c.recordsUpgrade(other, csv) {
				versions = append(versions, other)
			}
		}
	}
	return versions
}

// takenBy are the versions that have taken over a Deployment which a ClusterServiceVersion still owns.
func (c *versions) takenBy(csv *operatorsv1alpha1.ClusterServiceVersion) (versions []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, d := range c.caches.Deployments.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		if !csvspec.Owns(csv, d) {
			continue
		}
		for _, other := range c.coOwners(d, csv) {
			if csvspec.HasOwnerLabels(d, other) && c.recordsUpgrade(csv, other) {
				versions = append(versions, other)
			}
		}
	}
	return versions
}

// recordsUpgrade reports whether the manager has recorded that a version replaces an older one. Owner
// references alone prove nothing: who may edit a Deployment may write them.
func (c *versions) recordsUpgrade(older, newer *operatorsv1alpha1.ClusterServiceVersion) bool {
	current := c.caches.Rollouts.Get(newer.Namespace, newer.Name)
	return current != nil && current.Status.Upgrade != nil && slices.Contains(current.Status.Upgrade.From, older.Name)
}

// coOwners are the other ClusterServiceVersions that own an object, by their uids.
func (c *versions) coOwners(o drift.Object, csv *operatorsv1alpha1.ClusterServiceVersion) (others []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, reference := range o.GetOwnerReferences() {
		other := c.caches.CSVs.Get(o.GetNamespace(), reference.Name)
		if other != nil && other.UID == reference.UID && other.Name != csv.Name {
			others = append(others, other)
		}
	}
	return others
}

// begun tells whether a version has taken over from those that it replaces. Its phase
// says so, and so does anything that it has in hand, whatever becomes of its phase.
func (c *versions) begun(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	owner := informers.OwnerID(csv.Namespace, csv.Name)
	return lineage.Began(csv) ||
		labelled(c.caches.Deployments.OfOwner(owner), csv) || labelled(c.caches.Services.OfOwner(owner), csv) ||
		labelled(c.caches.Validating.OfOwner(owner), csv) || labelled(c.caches.Mutating.OfOwner(owner), csv) ||
		labelled(c.caches.APIServices.OfOwner(owner), csv)
}

func labelled[T drift.Object](objects []T, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(objects, func(o T) bool { return csvspec.HasOwnerLabels(o, csv) })
}

// successor is the version that has taken over from a ClusterServiceVersion; nil while
// none has. One on its way out counts until it is gone.
func (c *versions) successor(l lineage.Lineage) *operatorsv1alpha1.ClusterServiceVersion {
	for _, newer := range slices.Backward(l.Newer) {
		if c.begun(newer) {
			return newer
		}
	}
	return nil
}

// upgrade is what the decision about a ClusterServiceVersion has to know of the others.
func (c *versions) upgrade(csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, group *operatorsv1.OperatorGroup) rollout.Upgrade {
	u := rollout.Upgrade{
		From:               l.Older,
		Started:            c.begun(csv),
		NotReady:           lineage.NotReady(csv, l),
		ReplacementUnknown: !lineage.Announced(csv, l),
	}
	for _, newer := range l.Newer {
		if newer.DeletionTimestamp == nil {
			u.ReplacedBy = newer.Name
			break
		}
	}
	u.FailForward = group != nil && group.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
	return u
}

// lookAtReplaced is the pass over a version that a newer one has taken over from: it
// waits for that one's success, and goes. The eldest goes first, so that no version is
// cut off from those behind it.
func (c *Controller) lookAtReplaced(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, newer string) (time.Time, error) {
	if current := c.caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
		if err := c.reporter.updateRollout(ctx, k, csv, current, rollout.Replaced(csv, newer, current.Status, c.now())); err != nil {
			return time.Time{}, err
		}
	}
	if next := phase.AfterReplacement(csv.Status.Phase, newer, len(l.Older) == 0 && l.Superseded()); next != nil {
		held := &snapshot{Facts: decide.Facts{CSV: csv, Verdict: requirements.Verdict{Requirements: csv.Status.RequirementStatus}}}
		return time.Time{}, c.reporter.reportCSV(ctx, k, held, []phase.Phase{*next}, managerv1alpha1.WebhookRolloutStatus{})
	}
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseDeleting {
		return time.Time{}, nil
	}
	c.log.WithFields(k.Fields()).Infof("replaced by %s", newer)
	err := c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Delete(ctx, csv.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(csv.UID))})
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	return time.Time{}, err
}

// bequeath gives the registrations that an older version has declared just as they are
// to it: the version that took them over is on its way out, and they are not. An older version
// without a backend that stays gets none of them: nobody would serve it.
func (c *uninstaller) bequeath(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	live, err := c.writer.liveRegistrations(ctx, owned)
	if err != nil {
		return err
	}
	live = live.proven(ownership)
	admission, same := c.Kube.AdmissionregistrationV1(), unchanged(csv, heir, backends)
	if err := giveTo(ctx, admission.ValidatingWebhookConfigurations(), heir, live.validating, same, operatorsv1alpha1.ValidatingAdmissionWebhook); err != nil {
		return err
	}
	if err := giveTo(ctx, admission.MutatingWebhookConfigurations(), heir, live.mutating, same, operatorsv1alpha1.MutatingAdmissionWebhook); err != nil {
		return err
	}
	if err := giveTo(ctx, c.Aggregator.ApiregistrationV1().APIServices(), heir, live.apiServices, same, csvspec.APIServiceType); err != nil {
		return err
	}
	return c.bequeathDelegations(ctx, heir, backends, owned, ownership)
}

// unchanged is what two versions declare alike, as far as the heir has a backend for it.
func unchanged(csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends) []csvspec.Identity {
	var same []csvspec.Identity
	changes := render.Changes(csv, heir)
	for _, spec := range csvspec.Deployments(heir) {
		for _, d := range csvspec.Descriptions(heir, spec.Name) {
			if identity := csvspec.IdentityOf(d); changes[identity] == render.Same && backends.Serve(heir, spec.Name) {
				same = append(same, identity)
			}
		}
	}
	return same
}

// liveBackends are those of a version's namespace that the manager looks after, as the API server has
// them now.
func (c *uninstaller) liveBackends(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (owners.Backends, error) {
	managed := metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"}
	deployments, err := c.Kube.AppsV1().Deployments(csv.Namespace).List(ctx, managed)
	if err != nil {
		return owners.Backends{}, err
	}
	services, err := c.Kube.CoreV1().Services(csv.Namespace).List(ctx, managed)
	if err != nil {
		return owners.Backends{}, err
	}
	return owners.Backends{Deployments: pointers(deployments.Items), Services: pointers(services.Items)}, nil
}

// giveTo gives the heir those objects that register one of the same.
func giveTo[T drift.Object](ctx context.Context, client resource[T], heir *operatorsv1alpha1.ClusterServiceVersion, live []T, same []csvspec.Identity, kind operatorsv1alpha1.WebhookAdmissionType) error {
	for _, o := range live {
		if !slices.ContainsFunc(same, func(i csvspec.Identity) bool { return i.Registers(kind, o) }) {
			continue
		}
		if err := relabel(ctx, client, heir, o); err != nil {
			return err
		}
	}
	return nil
}

// relabel puts an object into the hands of another version, if it is still what was
// looked at.
func relabel[T drift.Object](ctx context.Context, client resource[T], heir *operatorsv1alpha1.ClusterServiceVersion, live T) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": csvspec.OwnerLabels(heir),
	}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	return err
}

// versionChanged looks at the other versions of an operator, to which it matters what
// becomes of one: in its spec, its phase, or when it comes or goes.
func (c *eventHandlers) versionChanged(before, after drift.Object) {
	c.ownersChanged(before, after)
	var was, is *operatorsv1alpha1.ClusterServiceVersion
	if before != nil {
		was = before.(*operatorsv1alpha1.ClusterServiceVersion)
	}
	if after != nil {
		is = after.(*operatorsv1alpha1.ClusterServiceVersion)
	}
	if was != nil && is != nil && was.Status.Phase == is.Status.Phase && was.DeletionTimestamp.IsZero() == is.DeletionTimestamp.IsZero() &&
		equality.Semantic.DeepEqual(lineage.Replaced(was), lineage.Replaced(is)) {
		return
	}
	for _, csv := range []*operatorsv1alpha1.ClusterServiceVersion{was, is} {
		if csv == nil {
			continue
		}
		l := c.versions.lineage(csv)
		for _, relative := range slices.Concat(l.Older, l.Newer) {
			c.queue.Add(queue.CSVKey(relative.Namespace, relative.Name))
		}
	}
}
