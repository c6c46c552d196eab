package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// Unregister deletes registrations, except the ones that the successor declares and serves. Objects that only have the
// labels stay. deleted reports whether API servers may still have to observe a deletion, also if there is an error. A
// registration that finalizers keep is an error: API servers continue to call its webhooks.
func (u *Uninstaller) Unregister(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, ownership owners.Ownership) (deleted bool, err error) {
	owned := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(csvspec.OwnerLabels(csv)).String()}
	if successor != nil {
		if err := u.transferRegistrations(ctx, csv, successor, backends, owned, ownership); err != nil {
			return false, err
		}
	}
	registrations, err := u.Live.Registrations(ctx, owned)
	if err != nil {
		return false, err
	}
	all := registrations.All()
	proven := owners.Proven(ownership, all)
	deleted = slices.ContainsFunc(proven, func(o drift.Object) bool { return o.GetDeletionTimestamp() == nil })
	if err := u.deleteProven(ctx, csv, all, ownership); err != nil {
		return deleted, err
	}
	return deleted, keptByFinalizers(proven)
}

// keptByFinalizers returns an error for objects that still exist after their deletion.
func keptByFinalizers(objects []drift.Object) error {
	var kept RefusedError
	for _, o := range objects {
		if why := registration.KeptByFinalizers(o); why != "" {
			kept = append(kept, why)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// deleteDelegations deletes the permissions that aggregated API servers need for each call.
func (u *Uninstaller) deleteDelegations(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	delegations, err := u.delegations(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(csvspec.OwnerLabels(csv)).String()})
	if err != nil {
		return err
	}
	return u.deleteProven(ctx, csv, delegations, ownership)
}

// reportLeft reports objects that stay, because only the labels name the ClusterServiceVersion as owner.
func (u *Uninstaller) reportLeft(csv *operatorsv1alpha1.ClusterServiceVersion, left []drift.Object) {
	if len(left) == 0 {
		return
	}
	keys := listed(lists.Sorted(lists.Map(left, drift.KeyOf)))
	message := fmt.Sprintf("%s: not deleted, because only labels name ClusterServiceVersion %s/%s as the owner: no record, InstallPlan or bundle install has created them. Delete them if they are not needed",
		keys, csv.Namespace, csv.Name)
	u.Log.WithFields(queue.CSVKey(csv.Namespace, csv.Name).Fields()).WithField("objects", keys).Warn("not deleted, because only labels name the ClusterServiceVersion as the owner")
	if u.Events != nil {
		u.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.EventLabelledObjectsLeft, message)
	}
}

// listed joins the first keys. The manager does not limit how many objects have a label.
func listed(keys []string) string {
	const most = 10
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
}

// EndConversions ends conversions. inUse names the definitions that stay: their objects would lose fields.
func (u *Uninstaller) EndConversions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service, crds map[string]*apiextensionsv1.CustomResourceDefinition) (written []drift.Object, inUse string, err error) {
	definitions, objects := lists.ByKey(crds), map[string]int{}
	converters := owners.Converters(csv, services, definitions)
	for {
		end := conversion.EndAll(csv.Namespace, func(service string) bool { return converters[service] }, definitions, objects, csv.Annotations[wellknown.AnnotationForceConversion] == "true")
		if len(end.Count) > 0 {
			u.Live.CountObjects(ctx, crds, end.Count, objects)
			continue
		}
		written, err = u.send(ctx, csv.Namespace, rollout.EndConversionSteps(end.CRDs))
		return written, end.InUse, err
	}
}
