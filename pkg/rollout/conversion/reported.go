package conversion

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Converts reports whether the webhook of a ClusterServiceVersion converts a live definition, by the status of its
// WebhookRollout: versions of the definition that wait for the webhook can be served. The pods of a previous version may
// convert while the ClusterServiceVersion is not installed, or until its own pods are called.
func Converts(status managerv1alpha1.WebhookRolloutStatus, live *apiextensionsv1.CustomResourceDefinition) bool {
	d, w := converterIn(status, live.Name)
	return d != nil && d.State == managerv1alpha1.DeploymentAvailable && w.State == managerv1alpha1.WebhookRegistered && slices.Contains(servingReasons, w.Reason) &&
		live.Spec.Conversion != nil && live.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// servingReasons are the reasons of a webhook that is called as declared.
var servingReasons = []string{managerv1alpha1.ReasonServing, managerv1alpha1.ReasonProvedThroughAPIServer, managerv1alpha1.ReasonNodeLocalService}

// UnreadyConverter returns the Deployment of the conversion webhook of a definition if its containers run and are not
// ready: they may wait for a version of the definition. It is empty otherwise.
func UnreadyConverter(status managerv1alpha1.WebhookRolloutStatus, crd string) (deployment string) {
	if d, _ := converterIn(status, crd); d != nil && (d.Reason == managerv1alpha1.ReasonPodNotReady || d.Reason == "CrashLoopBackOff") {
		return d.Name
	}
	return ""
}

func converterIn(status managerv1alpha1.WebhookRolloutStatus, crd string) (*managerv1alpha1.DeploymentStatus, *managerv1alpha1.WebhookStatus) {
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			if w.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(w.CRDs, crd) {
				return &d, &w
			}
		}
	}
	return nil, nil
}
