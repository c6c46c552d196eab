package controller

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// addUnlabelled adds the registrations that the status tells of and that somebody took the
// labels off: API servers call them as before, and they have to trust what pods serve.
func (c *prober) addUnlabelled(ctx context.Context, f *decide.Facts) error {
	for _, d := range f.Status.Deployments {
		for _, w := range d.Webhooks {
			if err := c.addUnlabelledOf(ctx, f, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *prober) addUnlabelledOf(ctx context.Context, f *decide.Facts, w managerv1alpha1.WebhookStatus) error {
	admission, apis := c.Kube.AdmissionregistrationV1(), c.Aggregator.ApiregistrationV1()
	switch w.Type {
	case operatorsv1alpha1.ValidatingAdmissionWebhook:
		return addNamed(ctx, f, f.Observed.Validating, w.Configuration, admission.ValidatingWebhookConfigurations().Get)
	case operatorsv1alpha1.MutatingAdmissionWebhook:
		return addNamed(ctx, f, f.Observed.Mutating, w.Configuration, admission.MutatingWebhookConfigurations().Get)
	case csvspec.APIServiceType:
		return addNamed(ctx, f, f.Observed.APIServices, w.Configuration, apis.APIServices().Get)
	default:
		return nil // conversions are found by the names of their definitions
	}
}

// addNamed adds an object to those that were found by their labels.
func addNamed[T drift.Object](ctx context.Context, f *decide.Facts, found []T, name string, get func(context.Context, string, metav1.GetOptions) (T, error)) error {
	if name == "" || slices.ContainsFunc(found, func(o T) bool { return o.GetName() == name }) {
		return nil
	}
	live, err := get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && !isOthers(f, live) && f.Ownership.Proves(live) {
		f.Learn(live)
	}
	return err
}

// isOthers reports whether an object is labelled for another ClusterServiceVersion.
func isOthers(f *decide.Facts, o drift.Object) bool {
	ours := informers.OwnerIDs(f.CSV, f.Upgrade.From)
	return slices.ContainsFunc(informers.OwnersOf(o), func(owner string) bool { return !slices.Contains(ours, owner) && f.Exists(owner) })
}
