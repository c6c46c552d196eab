package rollout

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// conflicts are reasons for which an operator is uninstalled.
var conflicts = map[string]struct {
	put       func(*cluster)
	wantPhase string
}{
	"another operator owns the API": {
		func(c *cluster) {
			c.Verdict = requirements.Verdict{Conflict: "conflicting CRD owner in namespace: another has it"}
		},
		"Failed OwnerConflict: conflicting CRD owner in namespace: another has it",
	},
	"another group provides the API": {
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

// Webhooks are unregistered. After the settle time the Deployments are deleted. When the conflict
// is resolved, the operator is installed again.
func TestConflictUninstalls(t *testing.T) {
	for name, test := range conflicts {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.put(c)
			plan := c.reconcile()
			installtest.Same(t, "first", []string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan))
			installtest.Same(t, "phases", []string{test.wantPhase}, phasesOf(plan))
			c.wait(time.Second)
			plan = c.reconcile()
			installtest.None(t, "steps a second later", plan.Steps)
			installtest.None(t, "phases a second later", plan.Phases)
			installtest.Same(t, "requeue", c.now.Add(c.Policy.Settle), plan.Requeue.At)
			c.wait(c.Policy.Settle)
			installtest.Same(t, "in the end", []string{"delete Deployment shop/manager"}, stepsOf(c.reconcile()))
			plan = c.reconcile()
			installtest.None(t, "steps after the deletion", plan.Steps)
			installtest.None(t, "phases after the deletion", plan.Phases)

			c.Failure, c.Verdict = nil, requirements.Verdict{}
			installtest.Same(t, "afterwards", []string{"create Deployment shop/manager"}, stepsOf(c.reconcile()))
		})
	}
}

// Before its installation, an operator deletes nothing.
func TestConflictBeforeInstallation(t *testing.T) {
	for name, test := range conflicts {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			test.put(c)
			plan := c.reconcile()
			installtest.None(t, "steps", plan.Steps)
			installtest.Same(t, "the last phase", test.wantPhase, lastPhaseOf(plan))
		})
	}
}

// A version does not delete the objects of the version that it replaces.
func TestConflictKeepsPreviousVersion(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	older := c.CSV
	c.CSV = older.DeepCopy()
	c.CSV.Name, c.CSV.Status = "shop.v2", operatorsv1alpha1.ClusterServiceVersionStatus{}
	c.Upgrade = Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{older}}
	conflicts["another operator owns the API"].put(c)
	installtest.Same(t, "steps", []string(nil), stepsOf(c.reconcile()))
}

// Unmet requirements are reported first, as in OLM v0.
func TestConflictAndRequirement(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	obstacles["a requirement"].put(c)
	c.Verdict.Conflict = "conflicting CRD owner in namespace: another has it"
	installtest.Same(t, "the last phase", obstacles["a requirement"].wantPhase, lastPhaseOf(c.reconcile()))
}

// A conversion that objects need is kept.
func TestConflictWithConversionInUse(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	conflicts["another group provides the API"].put(c)
	crd := convertedCRD("manager-service", []string{"v1"}, "v1", "v2")
	crd.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "shop"
	c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}
	installtest.Same(t, "definitions to count", []string{crd.Name}, c.reconcile().Count)
	c.Observed.ObjectCounts = map[string]int{crd.Name: 1}
	c.wait(time.Hour)
	if plan := c.reconcile(); len(plan.Steps) > 0 || plan.Status.Conditions == nil {
		t.Errorf("steps %q", stepsOf(plan))
	}
}
