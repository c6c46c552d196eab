package render

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// inputOf is the input of Objects for a CSV whose Services have their usual names and whose certificates are issued.
func inputOf(csv *operatorsv1alpha1.ClusterServiceVersion, group ...func(*operatorsv1.OperatorGroup)) Input {
	in := Input{CSV: csv, Scope: installtest.ScopeOf(csv, group...), Services: installtest.ServicesOf(csv), Trust: map[string]Trust{}}
	for name := range in.Services {
		if len(csvspec.Descriptions(csv, name)) > 0 {
			in.Trust[name] = Trust{CABundle: []byte("ca of " + name), CAHash: "hash-of-ca", Generation: 3}
		}
	}
	return in
}

// guarded is what Objects is asked for an operator with one webhook, by a manager that runs in the cluster.
func guarded(d operatorsv1alpha1.WebhookDescription, group ...func(*operatorsv1.OperatorGroup)) Input {
	in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), d), group...)
	in.Manager = installtest.ManagerUser
	return in
}

// rendered is the only Deployment of an input, and what its webhooks need.
func rendered(t *testing.T, in Input) Deployment {
	t.Helper()
	desired := Objects(in)
	if len(desired.Deployments) != 1 {
		t.Fatalf("%d Deployments are rendered, want 1", len(desired.Deployments))
	}
	return desired.Deployments[0]
}

func validatingOf(w Webhook) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return w.Registration.(*admissionregistrationv1.ValidatingWebhookConfiguration)
}

func mutatingOf(w Webhook) *admissionregistrationv1.MutatingWebhookConfiguration {
	return w.Registration.(*admissionregistrationv1.MutatingWebhookConfiguration)
}
