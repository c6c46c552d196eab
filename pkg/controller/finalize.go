package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
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
		if backends, err = c.uninstall.liveBackends(ctx, csv); err != nil {
			return time.Time{}, err
		}
		heir = relatives.Heir(backends.Installed)
	}
	ownership, err := c.uninstall.liveOwnership(ctx, csv)
	if err != nil {
		return time.Time{}, err
	}
	if err := c.uninstall.unregister(ctx, csv, heir, backends, ownership); err != nil {
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
	return time.Time{}, c.uninstall.letGo(ctx, csv, heir, c.keeps(csv, relatives), ownership)
}

// letGo removes what outlives a ClusterServiceVersion, the record by which it knows whether to last,
// and then the finalizer.
func (c *uninstaller) letGo(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, kept bool, ownership owners.Ownership) error {
	if kept {
		orphaned, err := c.orphaned(ctx, csv)
		if err != nil {
			return err
		}
		if err := c.dismantle(ctx, csv, orphaned); err != nil {
			return err
		}
	}
	if err := c.bequeathPermissions(ctx, csv, heir, ownership); err != nil {
		return err
	}
	if err := c.revoke(ctx, csv, ownership); err != nil {
		return err
	}
	if err := c.forget(ctx, csv); err != nil {
		return err
	}
	return c.release(ctx, csv)
}

// forget removes the manager's own record. Who deletes a ClusterServiceVersion and orphans
// what it owns means to keep the operator, not what was said of its webhooks.
func (c *uninstaller) forget(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	err := c.OLM.ManagerV1alpha1().WebhookRollouts(csv.Namespace).Delete(ctx, csv.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// unregister takes all registrations of a ClusterServiceVersion out of service but for
// those that the heir wants and serves, and what lets their servers ask who calls them. What only
// bears the labels stays.
func (c *uninstaller) unregister(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, ownership owners.Ownership) error {
	owned := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(csvspec.OwnerLabels(csv)).String()}
	if heir != nil {
		if err := c.bequeath(ctx, csv, heir, backends, owned, ownership); err != nil {
			return err
		}
	}
	live, err := c.writer.liveRegistrations(ctx, owned)
	if err != nil {
		return err
	}
	if err := c.deleteRegistrations(ctx, live.proven(ownership)); err != nil {
		return err
	}
	left, err := c.undelegate(ctx, owned, ownership)
	if err != nil {
		return err
	}
	c.reportLeft(csv, append(live.unproven(ownership), left...))
	return nil
}

// deleteRegistrations deletes webhooks first: they could refuse the rest.
func (c *uninstaller) deleteRegistrations(ctx context.Context, live liveRegistrations) error {
	admission := c.Kube.AdmissionregistrationV1()
	if err := deleteEach(ctx, admission.ValidatingWebhookConfigurations(), live.validating); err != nil {
		return err
	}
	if err := deleteEach(ctx, admission.MutatingWebhookConfigurations(), live.mutating); err != nil {
		return err
	}
	return deleteEach(ctx, c.Aggregator.ApiregistrationV1().APIServices(), live.apiServices)
}

func deleteEach[T drift.Object](ctx context.Context, client resource[T], objects []T) error {
	for _, o := range objects {
		if err := deleteExactly(ctx, client, o); err != nil {
			return err
		}
	}
	return nil
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
	crds := c.gather.convertible(csv, []string{informers.OwnerID(csv.Namespace, csv.Name)})
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
			c.writer.count(ctx, crds, end.Count, objects)
			continue
		}
		for _, step := range rollout.EndConversionSteps(end.CRDs) {
			written, _, err := c.writer.write(ctx, csv.Namespace, step)
			if err != nil {
				return "", err
			}
			c.writes.Add(k, informers.Write{Object: written, At: c.now()})
		}
		return end.InUse, nil
	}
}

func (c *uninstaller) release(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	rest := slices.DeleteFunc(slices.Clone(csv.Finalizers), func(f string) bool { return f == wellknown.FinalizerCSV })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": csv.UID, "resourceVersion": csv.ResourceVersion, "finalizers": rest,
	}})
	if err != nil {
		return err
	}
	_, err = c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
