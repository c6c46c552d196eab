package integration

import (
	"os"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/forms"
)

const pageOfForms = "../../docs/admin/takeover-objects.md"

// The table in the documentation is that of this run: what differs between the forms, object by object.
func TestTableOfForms(t *testing.T) {
	e := newEmptyTakeoverEnv(t)
	crd := newCRD(e.env, "engines", "v1", "v2")
	c := converting("operator.v1", crd.Name)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	mutating := webhook("m.example.com", "server")
	mutating.Type = operatorsv1alpha1.MutatingAdmissionWebhook
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"), mutating)
	c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec("plain"))
	c = installedByOLM(e.env, c, "")
	delegatedByOLM(e.env, c, csvspec.Deployments(c)[0])
	conditionByOLM(e.env, c)
	isBehind(e.env, "server-service", answersAll(e.env))

	stages := []forms.Stage{e.stage("olm-operator")}
	next := func(name string, state takeover.State, command ...string) {
		t.Helper()
		e.completes(command...)
		e.is(state)
		if e.running != nil {
			e.running.rests()
		}
		stages = append(stages, e.stage(name))
	}
	next("adopted", takeover.Adopted, runCommand...)
	next("given back", takeover.WithOLM, undoCommand...)
	e.completes(runCommand...)
	next("converged", takeover.Converged, convergeCommand...)
	next("given back after converge", takeover.WithOLM, undoCommand...)
	acceptedByOLM(e.env, c.Name)

	page := installtest.OrPanic(os.ReadFile(pageOfForms))
	text, _, _ := strings.Cut(string(page), "| object |")
	want := text + forms.Table(e.namespace, stages...)
	if *update {
		installtest.Must(t, os.WriteFile(pageOfForms, []byte(want), 0o600))
		return
	}
	same(t, "docs/admin/takeover-objects.md (write it with -run TestTableOfForms -update)", string(page), want)
}

func (e *takeoverEnv) stage(name string) forms.Stage {
	e.Helper()
	return forms.Stage{Name: name, Objects: installtest.OrPanic(forms.Read(e.ctx, e.any, e.namespace, "operator.v1"))}
}
