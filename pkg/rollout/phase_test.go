package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func TestTransitions(t *testing.T) {
	const (
		pending      = operatorsv1alpha1.CSVPhasePending
		installReady = operatorsv1alpha1.CSVPhaseInstallReady
		installing   = operatorsv1alpha1.CSVPhaseInstalling
		failed       = operatorsv1alpha1.CSVPhaseFailed
	)
	noGroup := &Phase{failed, operatorsv1alpha1.CSVReasonNoOperatorGroup, "csv in namespace with no operatorgroups"}
	invalid := &Phase{failed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "webhook rules cannot include all groups"}
	unknown := "Pending RequirementsUnknown: requirements not yet checked"
	unmet := "Pending RequirementsNotMet: one or more requirements couldn't be found: ServiceAccount x"
	lost := "Failed RequirementsNotMet: requirements no longer met"
	reinstall := "Pending NeedsReinstall: calculated deployment install is bad"
	ready := "InstallReady AllRequirementsMet: all requirements found, attempting install"
	install := "Installing InstallSucceeded: waiting for install components to report healthy"
	wait := "Installing InstallWaiting: installing: waiting for d"
	succeeded := "Succeeded InstallSucceeded: install strategy completed with no errors"
	timeout := "Failed InstallCheckFailed: install timeout: waiting for d"
	refused := "Failed InstallComponentFailed: install strategy failed: no"
	unhealthy := "Failed ComponentUnhealthy: gone"

	for name, test := range map[string]struct {
		from  Phase
		facts facts
		want  []string
	}{
		"new, nothing to wait for":            {Phase{}, facts{}, []string{unknown, ready, install, succeeded}},
		"new, something to wait for":          {Phase{}, facts{waits: "d"}, []string{unknown, ready, install, wait}},
		"new, no group":                       {Phase{}, facts{failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"new, invalid":                        {Phase{}, facts{failure: invalid, unmet: "ServiceAccount x"}, []string{"Failed InvalidWebhookDescription: webhook rules cannot include all groups"}},
		"new, requirements not met":           {Phase{}, facts{unmet: "ServiceAccount x"}, []string{unknown, unmet}},
		"new, refused":                        {Phase{}, facts{waits: "d", refused: "no"}, []string{unknown, ready, install, refused}},
		"requirements still not met":          {phaseUnmet.because(": ServiceAccount x"), facts{unmet: "ServiceAccount x"}, nil},
		"other requirements not met":          {phaseUnmet.because(": ServiceAccount y"), facts{unmet: "ServiceAccount x"}, []string{unmet}},
		"requirements met":                    {phaseUnmet.because(": ServiceAccount x"), facts{waits: "d"}, []string{ready, install, wait}},
		"installing, still waiting":           {phaseWaiting.because("d"), facts{waits: "d"}, nil},
		"installing, waiting for the next":    {phaseWaiting.because("c"), facts{waits: "d"}, []string{wait}},
		"installing, nothing left":            {phaseWaiting.because("d"), facts{}, []string{succeeded}},
		"installing, too long":                {phaseWaiting.because("d"), facts{waits: "d", timedOut: "d"}, []string{timeout}},
		"installing, refused":                 {phaseWaiting.because("d"), facts{waits: "d", refused: "no", timedOut: "d"}, []string{refused}},
		"installing, unavailable at first":    {phaseWaiting.because("d"), facts{waits: "d", unhealthy: "gone"}, nil},
		"installing, a requirement is lost":   {phaseWaiting.because("d"), facts{waits: "d", unmet: "ServiceAccount x"}, []string{unmet}},
		"installing, the group is lost":       {phaseWaiting.because("d"), facts{failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"installing, the Deployment changes":  {phaseWaiting.because("d"), facts{waits: "d", reinstall: true}, nil},
		"too long, and still":                 {phaseTimeout.because(": waiting for d"), facts{waits: "d", unhealthy: "gone"}, nil},
		"too long, and done at last":          {phaseTimeout.because(": waiting for d"), facts{}, []string{reinstall, ready, install, succeeded}},
		"too long, and changed":               {phaseTimeout.because(": waiting for d"), facts{waits: "d", reinstall: true}, []string{reinstall, ready, install, wait}},
		"too long, and refused":               {phaseTimeout.because(": waiting for d"), facts{waits: "d", refused: "no"}, []string{refused}},
		"succeeded":                           {phaseSucceeded, facts{}, nil},
		"succeeded, a webhook waits":          {phaseSucceeded, facts{waits: "d"}, nil},
		"succeeded, the pods are gone":        {phaseSucceeded, facts{waits: "d", unhealthy: "gone"}, []string{unhealthy}},
		"succeeded, a change":                 {phaseSucceeded, facts{waits: "d", unhealthy: "gone", reinstall: true}, []string{reinstall, ready, install, wait}},
		"succeeded, a change is refused":      {phaseSucceeded, facts{waits: "d", refused: "no"}, []string{refused}},
		"succeeded, a requirement is lost":    {phaseSucceeded, facts{unmet: "ServiceAccount x"}, []string{lost, unmet}},
		"succeeded, the group is lost":        {phaseSucceeded, facts{failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"unhealthy, and still":                {phaseUnhealthy.because("gone"), facts{waits: "d", unhealthy: "gone"}, nil},
		"unhealthy, for another cause":        {phaseUnhealthy.because("crash"), facts{waits: "d", unhealthy: "gone"}, []string{unhealthy}},
		"unhealthy, and recovering":           {phaseUnhealthy.because("gone"), facts{waits: "d"}, []string{reinstall, ready, install, wait}},
		"unhealthy, and recovered":            {phaseUnhealthy.because("gone"), facts{}, []string{reinstall, ready, install, succeeded}},
		"refused, and still":                  {phaseRefused.because("no"), facts{waits: "d", refused: "no", unhealthy: "gone"}, nil},
		"refused, for another cause":          {phaseRefused.because("quota"), facts{waits: "d", refused: "no"}, []string{refused}},
		"refused, and accepted":               {phaseRefused.because("no"), facts{waits: "d", unhealthy: "it is being created"}, []string{reinstall, ready, install, wait}},
		"no group, and still":                 {*noGroup, facts{failure: noGroup}, nil},
		"no group, and another failure":       {*noGroup, facts{failure: invalid}, []string{"Failed InvalidWebhookDescription: webhook rules cannot include all groups"}},
		"a group again":                       {*noGroup, facts{}, []string{unknown, ready, install, succeeded}},
		"a group again, requirements not met": {*noGroup, facts{unmet: "ServiceAccount x"}, []string{unknown, unmet}},
		"corrected":                           {*invalid, facts{waits: "d"}, []string{unknown, ready, install, wait}},
		"OLM was checking requirements":       {Phase{pending, operatorsv1alpha1.CSVReasonRequirementsUnknown, "requirements not yet checked"}, facts{waits: "d"}, []string{ready, install, wait}},
		"OLM was about to install":            {Phase{installReady, operatorsv1alpha1.CSVReasonRequirementsMet, "x"}, facts{waits: "d"}, []string{install, wait}},
		"OLM was installing":                  {Phase{installing, operatorsv1alpha1.CSVReasonInstallSuccessful, "x"}, facts{waits: "d"}, []string{wait}},
	} {
		t.Run(name, func(t *testing.T) {
			got := phasesOf(Plan{Phases: transitions(test.from, test.facts)})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
		})
	}
}

// From every phase, whoever set it, and under every combination of facts: the walk
// ends, a second walk from its end goes nowhere, and it ends where the facts allow.
func TestTransitionsAlwaysEnd(t *testing.T) {
	// No phase is walked through twice.
	const longest = 6
	for _, from := range everyPhase() {
		for _, f := range everyFacts() {
			last, steps := from, 0
			for g := f; steps <= longest; steps++ {
				to := next(last, g)
				if to == last {
					break
				}
				last, g.reinstall = to, false
			}
			if steps > longest {
				t.Fatalf("from %+v with %+v the walk does not end", from, f)
			}
			if walked := transitions(from, f); len(walked) > 0 && walked[len(walked)-1] != last || len(walked) == 0 && last != from {
				t.Fatalf("from %+v with %+v: %v does not end at %+v", from, f, walked, last)
			}
			settled := f
			settled.reinstall = false
			if again := transitions(last, settled); len(again) > 0 {
				t.Errorf("from %+v with %+v to %+v, and then %v", from, f, last, again)
			}
			if problem := contradiction(from, last, settled); problem != "" {
				t.Errorf("from %+v with %+v to %+v: %s", from, f, last, problem)
			}
		}
	}
}

// contradiction says what is wrong with coming to a phase under some facts.
func contradiction(from, to Phase, f facts) string {
	succeeded := to.Phase == operatorsv1alpha1.CSVPhaseSucceeded
	began := from.Phase != operatorsv1alpha1.CSVPhaseSucceeded
	switch {
	case f.failure != nil && to != *f.failure:
		return "the failure is not told"
	case f.failure == nil && f.unmet != "" && to.Reason != operatorsv1alpha1.CSVReasonRequirementsNotMet:
		return "requirements are not met"
	case succeeded && (f.refused != "" || f.unhealthy != "" && !began || f.waits != "" && began):
		return "it did not succeed"
	case f == facts{} && !succeeded:
		return "nothing speaks against success"
	default:
		return ""
	}
}

// everyPhase is each phase with each reason that the manager or OLM v0 gives.
func everyPhase() []Phase {
	var all []Phase
	for _, phase := range []operatorsv1alpha1.ClusterServiceVersionPhase{
		operatorsv1alpha1.CSVPhaseNone, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseInstallReady, operatorsv1alpha1.CSVPhaseInstalling,
		operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVPhaseUnknown, operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting,
	} {
		for _, reason := range []operatorsv1alpha1.ConditionReason{
			"", operatorsv1alpha1.CSVReasonRequirementsUnknown, operatorsv1alpha1.CSVReasonRequirementsNotMet, operatorsv1alpha1.CSVReasonRequirementsMet,
			operatorsv1alpha1.CSVReasonInstallSuccessful, operatorsv1alpha1.CSVReasonWaiting, operatorsv1alpha1.CSVReasonNeedsReinstall, operatorsv1alpha1.CSVReasonNeedsCertRotation,
			operatorsv1alpha1.CSVReasonComponentFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy, operatorsv1alpha1.CSVReasonInstallCheckFailed,
			operatorsv1alpha1.CSVReasonInvalidWebhookDescription, operatorsv1alpha1.CSVReasonNoOperatorGroup, operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup, "SomethingElse",
		} {
			for _, message := range []string{"", "d", "installing: waiting for d"} {
				all = append(all, Phase{phase, reason, message})
			}
		}
	}
	return all
}

// everyFacts is each combination that a decision can come to: what is refused, has
// broken or takes too long is waited for, too.
func everyFacts() []facts {
	var all []facts
	for combination := range 1 << 7 {
		text := func(bit int, text string) string { return strings.Repeat(text, combination>>bit&1) }
		f := facts{
			unmet: text(0, "ServiceAccount x"), waits: text(1, "d"), refused: text(2, "no"), timedOut: text(3, "d"), unhealthy: text(4, "gone"),
			reinstall: combination>>5&1 == 1,
		}
		if combination>>6&1 == 1 {
			f.failure = &Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup, "csv in namespace with no operatorgroups"}
		}
		all = append(all, f)
	}
	return slices.DeleteFunc(all, func(f facts) bool { return f.waits == "" && f.refused+f.timedOut+f.unhealthy != "" })
}

func TestEveryFactIsTold(t *testing.T) {
	for _, f := range everyFacts() {
		walked := transitions(Phase{}, f)
		said := fmt.Sprint(walked[len(walked)-1])
		for _, fact := range []struct{ is, told string }{{f.unmet, f.unmet}, {f.refused, f.refused}, {f.timedOut, "install timeout"}, {f.waits, f.waits}} {
			if f.failure == nil && fact.is != "" {
				if !strings.Contains(said, fact.told) {
					t.Errorf("with %+v, %q does not tell %q", f, said, fact.told)
				}
				break
			}
		}
	}
}
