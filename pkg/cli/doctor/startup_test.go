package doctor

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
)

// The manager exempts every request that doctor reports as blocking a lost pod.
func TestExemptionsCoverRecovery(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Name, csv.Namespace = "shop.v1", "shop"
	csv.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{Name: "hook", Spec: appsv1.DeploymentSpec{}}}

	requests := slices.Concat(recoveryPathsAfterLoss(types.NamespacedName{Namespace: "shop", Name: "hook"}, Service{})...)
	if len(requests) < 6 {
		t.Errorf("a lost pod needs %d requests to be replaced", len(requests))
	}
	for _, r := range append(requests, controlPlaneNeeds(ControlPlane{})...) {
		resource := strings.TrimSuffix(r.resource.Resource+"/"+r.sub, "/")
		t.Run(string(r.operation)+" "+resource+" "+r.namespace, func(t *testing.T) {
			d := operatorsv1alpha1.WebhookDescription{
				GenerateName: "v.shop.io", Type: operatorsv1alpha1.ValidatingAdmissionWebhook, DeploymentName: "hook",
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationType(r.operation)},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{r.resource.Group}, APIVersions: []string{"*"}, Resources: []string{resource}},
				}},
			}
			csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{d}
			own := func(l exemptions.Exemption) bool { return strings.HasPrefix(l.Name, "own-") || r.namespace != "shop" }
			if lifelines := exemptions.ForWidestScope(csv)(d); !slices.ContainsFunc(lifelines, own) {
				t.Errorf("no exempted request of its own is blocked, but %+v", lifelines)
			}
		})
	}
}
