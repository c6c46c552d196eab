package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ownership is what proves, by the caches, that an object belongs to a ClusterServiceVersion or to
// those that it replaces.
func (c *versions) ownership(versions ...*operatorsv1alpha1.ClusterServiceVersion) owners.Ownership {
	o := owners.Ownership{Versions: versions, Recorded: map[types.UID]bool{}}
	var services []*corev1.Service
	for _, csv := range versions {
		noteRecorded(o.Recorded, c.caches.Rollouts.Get(csv.Namespace, csv.Name))
		services = append(services, c.caches.Services.OfOwner(informers.OwnerID(csv.Namespace, csv.Name))...)
	}
	o.Services = servicesOf(versions, services)
	return o
}

// liveOwnership is the same for one ClusterServiceVersion as the API server has it now, with what
// InstallPlans created.
func (c *uninstaller) liveOwnership(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (owners.Ownership, error) {
	o := owners.Ownership{Versions: []*operatorsv1alpha1.ClusterServiceVersion{csv}, Recorded: map[types.UID]bool{}}
	current, err := c.OLM.ManagerV1alpha1().WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	if err == nil {
		noteRecorded(o.Recorded, current)
	} else if !apierrors.IsNotFound(err) {
		return o, err
	}
	services, err := c.Kube.CoreV1().Services(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return o, err
	}
	o.Services = servicesOf(o.Versions, pointers(services.Items))
	plans, err := c.OLM.OperatorsV1alpha1().InstallPlans(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		o.Planned = owners.InstallPlanObjects(csv, plans.Items)
	} else if !apierrors.IsNotFound(err) { // a cluster without OLM does not have the kind
		return o, err
	}
	return o, nil
}

// noteRecorded notes the uids that a WebhookRollout, which may be nil, has recorded.
func noteRecorded(recorded map[types.UID]bool, current *managerv1alpha1.WebhookRollout) {
	if current == nil {
		return
	}
	for _, created := range current.Status.Created {
		recorded[created.UID] = true
	}
}

// servicesOf are the names of the Services that have one of the versions as owner, by its uid.
func servicesOf(versions []*operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service) map[string]bool {
	names, owners := map[string]bool{}, owners.Ownership{Versions: versions}
	for _, service := range services {
		if owners.Owns(service) {
			names[service.Name] = true
		}
	}
	return names
}

// proven are those of some objects that belong to the ClusterServiceVersion by more than labels.
func proven[T drift.Object](o owners.Ownership, objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return !o.Proves(object) })
}

// unproven are the others.
func unproven[T drift.Object](o owners.Ownership, objects []T) (left []drift.Object) {
	for _, object := range objects {
		if !o.Proves(object) {
			left = append(left, object)
		}
	}
	return left
}

// reportLeft lists the objects that bear the labels of a ClusterServiceVersion that is deleted and
// stay, because nothing but the labels says that they belong to it.
func (c *uninstaller) reportLeft(csv *operatorsv1alpha1.ClusterServiceVersion, left []drift.Object) {
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
	c.log.WithFields(queue.CSVKey(csv.Namespace, csv.Name).Fields()).Warn(message)
	if c.events != nil {
		c.events.Event(csv, corev1.EventTypeWarning, "LabelledObjectsLeft", message)
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
