package deploy

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Awaited versions are served when their webhook serves, or when its own pods may be what
// waits for them.
func TestServingAwaitedVersions(t *testing.T) {
	const available, progressing = managerv1alpha1.DeploymentAvailable, managerv1alpha1.DeploymentProgressing
	const registered, waits = managerv1alpha1.WebhookRegistered, managerv1alpha1.WebhookWaiting
	for name, test := range map[string]struct {
		deployment managerv1alpha1.DeploymentState
		reason     string
		webhook    managerv1alpha1.WebhookState
		seen       int64
		caBundle   string
		converts   bool
		awaits     string
	}{
		"it serves":                       {available, "", registered, 2, "CA", true, ""},
		"it was not reconciled":           {available, "", registered, 1, "CA", false, ""},
		"the version before serves":       {progressing, "Updating", registered, 2, "CA", false, ""},
		"the conversion is not written":   {available, "", waits, 2, "", false, ""},
		"a client removed it":             {available, "", registered, 2, "", false, ""},
		"its pods run and do not answer":  {progressing, "PodNotReady", waits, 2, "", false, "manager"},
		"its pods end again and again":    {progressing, "CrashLoopBackOff", waits, 2, "", false, "manager"},
		"its image is not there":          {progressing, "ImagePullFailed", waits, 2, "", false, ""},
		"its pods are yet to be created":  {progressing, "WaitingForReplicas", waits, 2, "", false, ""},
		"a webhook of others is deployed": {managerv1alpha1.DeploymentPending, "EarlierDeployment", waits, 2, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := converting()
			csv.Generation = 2
			l := Observation{CSV: csv, Rollout: &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
				ObservedGeneration: test.seen,
				Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", State: test.deployment, Reason: test.reason, Webhooks: []managerv1alpha1.WebhookStatus{
					{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, State: registered},
					{Type: operatorsv1alpha1.ConversionWebhook, CRDs: []string{"things.example.com"}, State: test.webhook},
				}}},
			}}}
			installtest.Same(t, "converts", test.converts, l.Converts(live(test.caBundle, "v1")))
			installtest.Same(t, "may wait", test.awaits, l.WaitsForVersions("things.example.com"))
			if l.Converts(crd("v1")) || l.WaitsForVersions("others.example.com") != "" {
				t.Error("another definition is taken for this one")
			}
		})
	}
}
