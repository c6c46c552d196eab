package integration

import (
	"fmt"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
)

// Each command is ended after a single write (see strideOf), each time from the first state. Then the status is true, and the
// same command completes. make crashes tests all writes.
func TestTakeoverCommandDiesAtEachWrite(t *testing.T) {
	for _, test := range []struct {
		name    string
		before  [][]string
		command []string
		ends    takeover.State
		fewest  int // writes
	}{
		{"run", nil, runCommand, takeover.Adopted, 6},
		{"undo", [][]string{runCommand}, undoCommand, takeover.WithOLM, 12},
		{"converge", [][]string{runCommand}, convergeCommand, takeover.Converged, 4},
		{"undo of what was converged", [][]string{runCommand, convergeCommand}, undoCommand, takeover.WithOLM, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, interruptions, step := 1, 0, strideOf(6)
			for died := true; died; n += step {
				t.Run(fmt.Sprintf("answer %d lost", n), func(t *testing.T) {
					e := newTakeoverEnv(t)
					for _, command := range test.before {
						e.completes(command...)
					}
					if test.ends == takeover.WithOLM {
						e.holdDefinitions()
					}
					pods := e.pods()
					if died = e.interrupted(n, test.command...); died {
						interruptions++
						e.statusIsTrue("after the interruption")
						e.completes(test.command...)
					}
					e.is(test.ends)
					if test.ends == takeover.WithOLM {
						acceptedByOLM(e.env, "operator.v1")
						acceptedByOLM(e.env, "other.v1")
					}
					if test.ends != takeover.Converged {
						pods.stay(e, test.name)
					}
				})
			}
			if interruptions < max(1, test.fewest/step) {
				t.Errorf("the command died at %d writes of at least %d: this shows nothing", interruptions, test.fewest)
			}
		})
	}
}

// holdDefinitions creates the policy that undo deletes.
func (e *takeoverEnv) holdDefinitions() {
	e.Helper()
	createUntilDeleted(e.env, e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), policy.Policy())
	createUntilDeleted(e.env, e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings(), policy.Binding())
}

// A manager that dies after any single write of a takeover, each time from the first state, leaves the rest to the next one.
func TestManagerDiesAtEachWriteOfATakeover(t *testing.T) {
	under := func(order string) func(*env) {
		return func(e *env) {
			e.Helper()
			crd := newCRD(e, "engines", "v1", "v2")
			c := converting("operator.v1", crd.Name)
			c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
			c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
			installedByOLM(e, c, order)
		}
	}
	adopted := func(e *env) {
		e.Helper()
		takeoverIs(e, managerv1alpha1.TakeoverAdopted, "server")
	}
	converged := func(e *env) {
		e.Helper()
		adopted(e)
		orderTakeover(e, wellknown.TakeoverConverge)
		takeoverIs(e, managerv1alpha1.TakeoverConverged)
	}
	for name, test := range map[string]struct {
		exists  string // the first order
		prepare func(*env)
		order   string
		form    managerv1alpha1.TakeoverForm
	}{
		"adoption":                   {wellknown.TakeoverGivenBack, func(*env) {}, wellknown.TakeoverHeld, managerv1alpha1.TakeoverAdopted},
		"converge":                   {wellknown.TakeoverHeld, adopted, wellknown.TakeoverConverge, managerv1alpha1.TakeoverConverged},
		"give back":                  {wellknown.TakeoverHeld, adopted, wellknown.TakeoverGiveBack, managerv1alpha1.TakeoverGivenBack},
		"give back of the converged": {wellknown.TakeoverHeld, converged, wellknown.TakeoverGiveBack, managerv1alpha1.TakeoverGivenBack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario{
				everywhere: true,
				exists:     under(test.exists),
				prepare:    test.prepare,
				act:        func(e *env) { orderTakeover(e, test.order) },
				ended: func(e *env) bool {
					return formOf(e) == test.form && e.get("operator.v1").Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
				},
				check: func(e *env) {
					e.Helper()
					label := e.deployment("server").Spec.Template.Labels[wellknown.LabelCSV]
					same(e.T, "the pods have the manager's label", label != "", name == "converge" || name == "give back of the converged")
					if test.form == managerv1alpha1.TakeoverGivenBack {
						acceptedByOLM(e, "operator.v1")
					}
				},
			}.dieAtEachWrite(t)
		})
	}
}

func (s scenario) dieAtEachWrite(t *testing.T) {
	t.Helper()
	writes := s.writes(t)
	if len(writes) < 3 {
		t.Errorf("%d writes: this shows nothing", len(writes))
	}
	for n := 1; n <= len(writes); n++ {
		t.Run(fmt.Sprintf("answer %d lost", n), func(t *testing.T) {
			t.Log(writes[n-1])
			s.crash(newParallelEnv(t), n)
		})
	}
}
