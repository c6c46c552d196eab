package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Unregister takes all registrations of a ClusterServiceVersion out of service but for
// those that the heir wants and serves, and what lets their servers ask who calls them. What only
// bears the labels stays.
func (u *Uninstaller) Unregister(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, ownership owners.Ownership) error {
	owned := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(csvspec.OwnerLabels(csv)).String()}
	if heir != nil {
		if err := u.transferRegistrations(ctx, csv, heir, backends, owned, ownership); err != nil {
			return err
		}
	}
	live, err := u.Live.Registrations(ctx, owned)
	if err != nil {
		return err
	}
	if err := u.deleteRegistrations(ctx, live.Proven(ownership)); err != nil {
		return err
	}
	left, err := u.deleteDelegations(ctx, owned, ownership)
	if err != nil {
		return err
	}
	u.reportLeft(csv, append(live.Unproven(ownership), left...))
	return nil
}

// deleteRegistrations deletes webhooks first: they could refuse the rest.
func (u *Uninstaller) deleteRegistrations(ctx context.Context, live live.Registrations) error {
	admission := u.Kube.AdmissionregistrationV1()
	if err := deleteEach(ctx, admission.ValidatingWebhookConfigurations(), live.Validating); err != nil {
		return err
	}
	if err := deleteEach(ctx, admission.MutatingWebhookConfigurations(), live.Mutating); err != nil {
		return err
	}
	return deleteEach(ctx, u.Aggregator.ApiregistrationV1().APIServices(), live.APIServices)
}

func deleteEach[T drift.Object](ctx context.Context, client write.Resource[T], objects []T) error {
	for _, o := range objects {
		if err := write.Delete(ctx, client, o); err != nil {
			return err
		}
	}
	return nil
}

// reportLeft lists the objects that bear the labels of a ClusterServiceVersion that is deleted and
// stay, because nothing but the labels says that they belong to it.
func (u *Uninstaller) reportLeft(csv *operatorsv1alpha1.ClusterServiceVersion, left []drift.Object) {
	if len(left) == 0 {
		return
	}
	var keys []string
	for _, o := range left {
		keys = append(keys, drift.KeyOf(o))
	}
	slices.Sort(keys)
	message := fmt.Sprintf("%s: not deleted, because only labels name ClusterServiceVersion %s/%s as the owner: no record, InstallPlan or bundle install has created them. Delete them if they are not needed",
		listed(slices.Compact(keys)), csv.Namespace, csv.Name)
	u.Log.WithFields(queue.CSVKey(csv.Namespace, csv.Name).Fields()).Warn(message)
	if u.Events != nil {
		u.Events.Event(csv, corev1.EventTypeWarning, "LabelledObjectsLeft", message)
	}
}

// listed joins the first keys. How many objects bear a label is not the manager's choice.
func listed(keys []string) string {
	const most = 10
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
}
