package deploy

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// AwaitedBy returns the versions of definitions that a ClusterServiceVersion has to wait for, as text.
func AwaitedBy(definitions map[string][]string) []string {
	var all []string
	for crd, versions := range definitions {
		for _, v := range versions {
			all = append(all, csvspec.CRDVersion(crd, v))
		}
	}
	slices.Sort(all)
	return all
}

// Converts reports whether the operator's webhook converts a live definition: its awaited versions can be served.
func (l Observation) Converts(live *apiextensionsv1.CustomResourceDefinition) bool {
	d, w := l.converter(live.Name)
	return d != nil && l.isCurrent() && d.State == managerv1alpha1.DeploymentAvailable && w.State == managerv1alpha1.WebhookRegistered && webhookConverts(live)
}

// WaitsForVersions returns the Deployment of the conversion webhook if it may wait for the versions: it is not ready.
func (l Observation) WaitsForVersions(crd string) (deployment string) {
	if d, _ := l.converter(crd); d != nil && (d.Reason == notReady || d.Reason == crashes) {
		return d.Name
	}
	return ""
}

func (l Observation) converter(crd string) (*managerv1alpha1.DeploymentStatus, *managerv1alpha1.WebhookStatus) {
	for _, d := range l.deployments() {
		for _, w := range d.Webhooks {
			if w.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(w.CRDs, crd) {
				return &d, &w
			}
		}
	}
	return nil, nil
}
