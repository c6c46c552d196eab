package controller

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// addUnlabelled adds the registrations that the status tells of and that somebody took the
// labels off: API servers call them as before, and they have to trust what pods serve.
func (c *Controller) addUnlabelled(ctx context.Context, s *snapshot) error {
	for _, d := range s.status.Deployments {
		for _, w := range d.Webhooks {
			if err := c.addUnlabelledOf(ctx, s, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Controller) addUnlabelledOf(ctx context.Context, s *snapshot, w managerv1alpha1.WebhookStatus) error {
	admission, apis := c.Kube.AdmissionregistrationV1(), c.Aggregator.ApiregistrationV1()
	switch w.Type {
	case operatorsv1alpha1.ValidatingAdmissionWebhook:
		return addNamed(ctx, s, s.observed.Validating, w.Configuration, admission.ValidatingWebhookConfigurations().Get)
	case operatorsv1alpha1.MutatingAdmissionWebhook:
		return addNamed(ctx, s, s.observed.Mutating, w.Configuration, admission.MutatingWebhookConfigurations().Get)
	case csvspec.APIServiceType:
		return addNamed(ctx, s, s.observed.APIServices, w.Configuration, apis.APIServices().Get)
	default:
		return nil // conversions are found by the names of their definitions
	}
}

// addNamed adds an object to those that were found by their labels.
func addNamed[T drift.Object](ctx context.Context, s *snapshot, found []T, name string, get func(context.Context, string, metav1.GetOptions) (T, error)) error {
	if name == "" || slices.ContainsFunc(found, func(o T) bool { return o.GetName() == name }) {
		return nil
	}
	live, err := get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && !s.isOthers(live) && s.ownership.Proves(live) {
		s.learn(live)
	}
	return err
}

// isOthers tells whether an object is labelled for another ClusterServiceVersion.
func (s *snapshot) isOthers(o drift.Object) bool {
	ours := informers.OwnerIDs(s.csv, s.upgrade.From)
	return slices.ContainsFunc(informers.OwnersOf(o), func(owner string) bool { return !slices.Contains(ours, owner) && s.exists(owner) })
}
