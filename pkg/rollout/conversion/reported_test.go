package conversion

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestReportedConverter(t *testing.T) {
	const crd = "things.example.com"
	for name, test := range map[string]struct {
		change   func(d *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus)
		none     bool // the definition has no conversion
		converts bool
		unready  string
	}{
		"serving": {converts: true},
		"serving, as the API server reports": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.Reason = managerv1alpha1.ReasonProvedThroughAPIServer
		}, converts: true},
		"no conversion": {none: true},
		"another definition": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.CRDs = []string{"others.example.com"}
		}},
		"another webhook": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.Type = operatorsv1alpha1.ValidatingAdmissionWebhook
		}},
		"not registered": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.State = managerv1alpha1.WebhookWaiting
		}},
		"by the pods of the previous version, before the installation": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.Reason = managerv1alpha1.ReasonHeld
		}},
		"by another Deployment until the probe": {change: func(_ *managerv1alpha1.DeploymentStatus, w *managerv1alpha1.WebhookStatus) {
			w.Reason = managerv1alpha1.ReasonProbing
		}},
		"pods that are replaced": {change: func(d *managerv1alpha1.DeploymentStatus, _ *managerv1alpha1.WebhookStatus) {
			d.State = managerv1alpha1.DeploymentProgressing
		}},
		"pods that are not ready": {change: func(d *managerv1alpha1.DeploymentStatus, _ *managerv1alpha1.WebhookStatus) {
			d.State, d.Reason = managerv1alpha1.DeploymentProgressing, managerv1alpha1.ReasonPodNotReady
		}, unready: "server"},
		"pods that crash": {change: func(d *managerv1alpha1.DeploymentStatus, _ *managerv1alpha1.WebhookStatus) {
			d.State, d.Reason = managerv1alpha1.DeploymentProgressing, "CrashLoopBackOff"
		}, unready: "server"},
	} {
		t.Run(name, func(t *testing.T) {
			d := managerv1alpha1.DeploymentStatus{Name: "server", State: managerv1alpha1.DeploymentAvailable, Webhooks: []managerv1alpha1.WebhookStatus{{
				Type: operatorsv1alpha1.ConversionWebhook, CRDs: []string{crd}, State: managerv1alpha1.WebhookRegistered, Reason: managerv1alpha1.ReasonServing,
			}}}
			if test.change != nil {
				test.change(&d, &d.Webhooks[0])
			}
			live := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd}}
			if !test.none {
				live.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
			}
			status := managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{d}}
			installtest.Same(t, "converts", test.converts, Converts(status, live))
			installtest.Same(t, "the Deployment that is not ready", test.unready, UnreadyConverter(status, crd))
		})
	}
}
