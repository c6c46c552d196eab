package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// yieldings are what makes an operator give up what it has.
var yieldings = map[string]struct {
	put       func(*cluster)
	wantPhase string
}{
	"another operator owns the same": {
		func(c *cluster) {
			c.Verdict = requirements.Verdict{Conflict: "conflicting CRD owner in namespace: another has it"}
		},
		"Failed OwnerConflict: conflicting CRD owner in namespace: another has it",
	},
	"a group provides the same": {
		func(c *cluster) {
			c.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict, Message: "intersecting"}
		},
		"Failed InterOperatorGroupOwnerConflict: intersecting",
	},
	"its group does not provide it": {
		func(c *cluster) {
			c.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs, Message: "static"}
		},
		"Failed CannotModifyStaticOperatorGroupProvidedAPIs: static",
	},
}

// Webhooks are unregistered, every API server learns of it, and then the Deployments go.
// When nothing speaks against the operator any more, it comes back.
func TestWithdrawn(t *testing.T) {
	for name, test := range yieldings {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.put(c)
			plan := c.pass()
			if diff := cmp.Diff([]string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan)); diff != "" {
				t.Errorf("first (-want +got):\n%s", diff)
			}
			if said := phasesOf(plan); len(said) != 1 || said[0] != test.wantPhase {
				t.Errorf("phases %q, want %q", said, test.wantPhase)
			}
			c.wait(time.Second)
			if plan = c.pass(); len(plan.Steps)+len(plan.Phases) > 0 || !plan.Requeue.At.Equal(c.now.Add(c.Policy.Settle)) {
				t.Errorf("a second later: steps %q, phases %q, next look %s", stepsOf(plan), phasesOf(plan), plan.Requeue.At)
			}
			c.wait(c.Policy.Settle)
			if diff := cmp.Diff([]string{"delete Deployment shop/manager"}, stepsOf(c.pass())); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
			if plan = c.pass(); len(plan.Steps)+len(plan.Phases) > 0 {
				t.Errorf("when all is gone: steps %q, phases %q", stepsOf(plan), phasesOf(plan))
			}

			c.Failure, c.Verdict = nil, requirements.Verdict{}
			if diff := cmp.Diff([]string{"create Deployment shop/manager"}, stepsOf(c.pass())); diff != "" {
				t.Errorf("afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

// An operator that has not begun has nothing to take back, and takes nothing from others.
func TestYieldsBeforeItBegins(t *testing.T) {
	for name, test := range yieldings {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			test.put(c)
			if plan := c.pass(); len(plan.Steps) > 0 || phasesOf(plan)[len(plan.Phases)-1] != test.wantPhase {
				t.Errorf("steps %q, phases %q", stepsOf(plan), phasesOf(plan))
			}
		})
	}
}

// What a version that it replaces has in hand is that one's.
func TestWithdrawsNothingOfAnOlderVersion(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	older := c.CSV
	c.CSV = older.DeepCopy()
	c.CSV.Name, c.CSV.Status = "shop.v2", operatorsv1alpha1.ClusterServiceVersionStatus{}
	c.Upgrade = Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{older}}
	yieldings["another operator owns the same"].put(c)
	if plan := c.pass(); len(plan.Steps) > 0 {
		t.Errorf("steps %q", stepsOf(plan))
	}
}

// Requirements that are not met are said first, as under OLM v0.
func TestConflictAndRequirement(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	obstacles["a requirement"].put(c)
	c.Verdict.Conflict = "conflicting CRD owner in namespace: another has it"
	if said := phasesOf(c.pass()); said[len(said)-1] != obstacles["a requirement"].wantPhase {
		t.Errorf("phases %q", said)
	}
}

// What converts objects that would lose fields stays.
func TestWithdrawnConversionInUse(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	yieldings["a group provides the same"].put(c)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "orders.shop.example.com"}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}, {Name: "v2", Served: true}}
	crd.Status.StoredVersions = []string{"v1"}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "shop", Name: "manager-service"}},
	}}
	c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}
	if plan := c.pass(); len(plan.Count) != 1 || plan.Count[0] != crd.Name {
		t.Errorf("counts %q", plan.Count)
	}
	c.Observed.ObjectCounts = map[string]int{crd.Name: 1}
	c.wait(time.Hour)
	if plan := c.pass(); len(plan.Steps) > 0 || plan.Status.Conditions == nil {
		t.Errorf("steps %q", stepsOf(plan))
	}
}
