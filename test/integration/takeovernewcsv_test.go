package integration

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A new operator that never succeeds is not Converged, and keeps neither run nor converge from their ends.
func TestTakeoverWithANewOperatorThatFails(t *testing.T) {
	for name, webhooks := range map[string]bool{"with a webhook": true, "without webhooks": false} {
		t.Run(name, func(t *testing.T) {
			e := newTakeoverEnv(t)
			e.completes(runCommand...)
			c := csv("tenant.v1", "tenant")
			if !webhooks {
				c.Spec.WebhookDefinitions = nil
			}
			c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "absents.example.com", Version: "v1", Kind: "Absent"}}
			e.create(c)
			e.eventually("it is pending", func() (bool, any) {
				phase := e.get("tenant.v1").Status.Phase
				return phase == operatorsv1alpha1.CSVPhasePending, phase
			})
			e.completes(convergeCommand...)
			e.completes(runCommand...)
			all := e.status().CSVs
			i := slices.IndexFunc(all, func(c takeover.CSVStatus) bool { return c.Name == "tenant.v1" })
			same(t, "the state of the new operator", all[i].State, takeover.Installing)
		})
	}
}

// The administrator has stopped olm-operator, and the owner of one operator labels it. That does not let run restart the pods
// of another operator.
func TestTakeoverIsBlockedAfterALabel(t *testing.T) {
	e := newTakeoverEnv(t)
	e.scale(olmOperator, 0)
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), "server", types.MergePatchType, []byte(`{"metadata":{"labels":{"olm.deployment-spec-hash":"other"}}}`))
	e.label("other.v1", wellknown.TakeoverGivenBack)
	pods := e.pods()
	p := proxy(e.env, nil)
	out, err := e.run(p, runCommand...)
	installtest.Error(t, "the takeover is blocked", err)
	installtest.Contains(t, out, "OtherForm")
	none(t, "writes", changes(p))
	pods.stay(e, "run")
}
