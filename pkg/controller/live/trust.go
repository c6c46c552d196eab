package live

import (
	"context"
	"maps"
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

// Trust reads the Secret of a Deployment, and everything that makes API servers call its webhooks.
func (r *Reader) Trust(ctx context.Context, facts decide.Facts, q decide.ReadTrust) (decide.Trust, error) {
	secret, err := r.Secret(ctx, facts.CSV.Namespace, q.Secret)
	if err != nil {
		return decide.Trust{}, err
	}
	live, err := r.Registrations(ctx, metav1.ListOptions{LabelSelector: csvspec.OwnerSelector(facts.Versions()).String()})
	if err != nil {
		return decide.Trust{}, err
	}
	live = live.Proven(facts.Ownership)
	facts.Observed = q.Observed
	facts.Observed.Validating, facts.Observed.Mutating, facts.Observed.APIServices = live.Validating, live.Mutating, live.APIServices
	facts.Observed.Refused, facts.Observed.CRDs = maps.Clone(q.Observed.Refused), maps.Clone(q.Observed.CRDs)
	if err := r.addUnlabelled(ctx, &facts); err != nil {
		return decide.Trust{}, err
	}
	for name := range q.Observed.CRDs {
		crd, err := r.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			delete(facts.Observed.CRDs, name)
			continue
		}
		if err != nil {
			return decide.Trust{}, err
		}
		facts.Observed.CRDs[name] = crd
	}
	return decide.Trust{Secret: secret, Observed: facts.Observed}, nil
}

// addUnlabelled adds the registrations in the status whose labels another client removed. API servers
// still call them, so they have to trust what pods serve.
func (r *Reader) addUnlabelled(ctx context.Context, f *decide.Facts) error {
	for _, d := range f.Status.Deployments {
		for _, w := range d.Webhooks {
			if err := r.addUnlabelledOf(ctx, f, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Reader) addUnlabelledOf(ctx context.Context, f *decide.Facts, w managerv1alpha1.WebhookStatus) error {
	admission, apis := r.Kube.AdmissionregistrationV1(), r.Aggregator.ApiregistrationV1()
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

// addNamed adds an object that was not found by its labels.
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
