package phase

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		facts Facts
		want  []string
	}{
		"new, nothing to wait for":            {Phase{}, Facts{}, []string{unknown, ready, install, succeeded}},
		"new, something to wait for":          {Phase{}, Facts{Incomplete: "d"}, []string{unknown, ready, install, wait}},
		"new, no group":                       {Phase{}, Facts{Failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"new, invalid":                        {Phase{}, Facts{Failure: invalid, Unmet: "ServiceAccount x"}, []string{"Failed InvalidWebhookDescription: webhook rules cannot include all groups"}},
		"new, requirements not met":           {Phase{}, Facts{Unmet: "ServiceAccount x"}, []string{unknown, unmet}},
		"new, refused":                        {Phase{}, Facts{Incomplete: "d", Refused: "no"}, []string{unknown, ready, install, refused}},
		"requirements still not met":          {Unmet.Because(": ServiceAccount x"), Facts{Unmet: "ServiceAccount x"}, nil},
		"other requirements not met":          {Unmet.Because(": ServiceAccount y"), Facts{Unmet: "ServiceAccount x"}, []string{unmet}},
		"requirements met":                    {Unmet.Because(": ServiceAccount x"), Facts{Incomplete: "d"}, []string{ready, install, wait}},
		"installing, still waiting":           {Waiting.Because("d"), Facts{Incomplete: "d"}, nil},
		"installing, waiting for the next":    {Waiting.Because("c"), Facts{Incomplete: "d"}, []string{wait}},
		"installing, nothing left":            {Waiting.Because("d"), Facts{}, []string{succeeded}},
		"installing, too long":                {Waiting.Because("d"), Facts{Incomplete: "d", TimedOut: "d"}, []string{timeout}},
		"installing, refused":                 {Waiting.Because("d"), Facts{Incomplete: "d", Refused: "no", TimedOut: "d"}, []string{refused}},
		"installing, unavailable at first":    {Waiting.Because("d"), Facts{Incomplete: "d", Unhealthy: "gone"}, nil},
		"installing, a requirement is lost":   {Waiting.Because("d"), Facts{Incomplete: "d", Unmet: "ServiceAccount x"}, []string{unmet}},
		"installing, the group is lost":       {Waiting.Because("d"), Facts{Failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"installing, the Deployment changes":  {Waiting.Because("d"), Facts{Incomplete: "d", Reinstall: true}, nil},
		"too long, and still":                 {Timeout.Because(": waiting for d"), Facts{Incomplete: "d", Unhealthy: "gone"}, nil},
		"too long, and completed":             {Timeout.Because(": waiting for d"), Facts{}, []string{reinstall, ready, install, succeeded}},
		"too long, and changed":               {Timeout.Because(": waiting for d"), Facts{Incomplete: "d", Reinstall: true}, []string{reinstall, ready, install, wait}},
		"too long, and refused":               {Timeout.Because(": waiting for d"), Facts{Incomplete: "d", Refused: "no"}, []string{refused}},
		"succeeded":                           {Succeeded, Facts{}, nil},
		"succeeded, a webhook waits":          {Succeeded, Facts{Incomplete: "d"}, nil},
		"succeeded, the pods are unavailable": {Succeeded, Facts{Incomplete: "d", Unhealthy: "gone"}, []string{unhealthy}},
		"succeeded, a change":                 {Succeeded, Facts{Incomplete: "d", Unhealthy: "gone", Reinstall: true}, []string{reinstall, ready, install, wait}},
		"succeeded, a change is refused":      {Succeeded, Facts{Incomplete: "d", Refused: "no"}, []string{refused}},
		"succeeded, a requirement is lost":    {Succeeded, Facts{Unmet: "ServiceAccount x"}, []string{lost, unmet}},
		"succeeded, the group is lost":        {Succeeded, Facts{Failure: noGroup}, []string{"Failed NoOperatorGroup: csv in namespace with no operatorgroups"}},
		"unhealthy, and still":                {Unhealthy.Because("gone"), Facts{Incomplete: "d", Unhealthy: "gone"}, nil},
		"unhealthy, for another cause":        {Unhealthy.Because("crash"), Facts{Incomplete: "d", Unhealthy: "gone"}, []string{unhealthy}},
		"unhealthy, and recovering":           {Unhealthy.Because("gone"), Facts{Incomplete: "d"}, []string{reinstall, ready, install, wait}},
		"unhealthy, and recovered":            {Unhealthy.Because("gone"), Facts{}, []string{reinstall, ready, install, succeeded}},
		"refused, and still":                  {Refused.Because("no"), Facts{Incomplete: "d", Refused: "no", Unhealthy: "gone"}, nil},
		"refused, for another cause":          {Refused.Because("quota"), Facts{Incomplete: "d", Refused: "no"}, []string{refused}},
		"refused, and accepted":               {Refused.Because("no"), Facts{Incomplete: "d", Unhealthy: "it is being created"}, []string{reinstall, ready, install, wait}},
		"no group, and still":                 {*noGroup, Facts{Failure: noGroup}, nil},
		"no group, and another failure":       {*noGroup, Facts{Failure: invalid}, []string{"Failed InvalidWebhookDescription: webhook rules cannot include all groups"}},
		"a group again":                       {*noGroup, Facts{}, []string{unknown, ready, install, succeeded}},
		"a group again, requirements not met": {*noGroup, Facts{Unmet: "ServiceAccount x"}, []string{unknown, unmet}},
		"corrected":                           {*invalid, Facts{Incomplete: "d"}, []string{unknown, ready, install, wait}},
		"OLM was checking requirements":       {Phase{pending, operatorsv1alpha1.CSVReasonRequirementsUnknown, "requirements not yet checked"}, Facts{Incomplete: "d"}, []string{ready, install, wait}},
		"OLM was about to install":            {Phase{installReady, operatorsv1alpha1.CSVReasonRequirementsMet, "x"}, Facts{Incomplete: "d"}, []string{install, wait}},
		"OLM was installing":                  {Phase{installing, operatorsv1alpha1.CSVReasonInstallSuccessful, "x"}, Facts{Incomplete: "d"}, []string{wait}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "phases", test.want, inWords(Transitions(test.from, test.facts)))
		})
	}
}

// For every phase and combination of facts, the transitions end at a phase that the facts allow, and stay there.
func TestTransitionsTerminate(t *testing.T) {
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
				last, g.Reinstall = to, false
			}
			if steps > longest {
				t.Fatalf("from %+v with %+v the transitions do not end", from, f)
			}
			if walked := Transitions(from, f); len(walked) > 0 && walked[len(walked)-1] != last || len(walked) == 0 && last != from {
				t.Fatalf("from %+v with %+v: %v does not end at %+v", from, f, walked, last)
			}
			settled := f
			settled.Reinstall = false
			installtest.None(t, fmt.Sprintf("transitions from %+v with %+v after %+v", from, f, last), Transitions(last, settled))
			if problem := contradiction(from, last, settled); problem != "" {
				t.Errorf("from %+v with %+v to %+v: %s", from, f, last, problem)
			}
		}
	}
}

// contradiction returns why the facts do not allow a phase.
func contradiction(from, to Phase, f Facts) string {
	succeeded := to.Phase == operatorsv1alpha1.CSVPhaseSucceeded
	began := from.Phase != operatorsv1alpha1.CSVPhaseSucceeded
	switch {
	case f.Failure != nil && to != *f.Failure:
		return "the failure is not reported"
	case f.Failure == nil && f.Unmet != "" && to.Reason != operatorsv1alpha1.CSVReasonRequirementsNotMet:
		return "requirements are not met"
	case succeeded && (f.Refused != "" || f.Unhealthy != "" && !began || f.Incomplete != "" && began):
		return "it did not succeed"
	case f == Facts{} && !succeeded:
		return "it should succeed"
	default:
		return ""
	}
}

// everyPhase returns each phase with each reason of the manager or OLM v0.
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

// everyFacts returns each possible combination of facts. After a refusal, failure or timeout, something is incomplete.
func everyFacts() []Facts {
	var all []Facts
	for combination := range 1 << 7 {
		text := func(bit int, text string) string { return strings.Repeat(text, combination>>bit&1) }
		f := Facts{
			Unmet: text(0, "ServiceAccount x"), Incomplete: text(1, "d"), Refused: text(2, "no"), TimedOut: text(3, "d"), Unhealthy: text(4, "gone"),
			Reinstall: combination>>5&1 == 1,
		}
		if combination>>6&1 == 1 {
			f.Failure = &Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup, "csv in namespace with no operatorgroups"}
		}
		all = append(all, f)
	}
	return slices.DeleteFunc(all, func(f Facts) bool { return f.Incomplete == "" && f.Refused+f.TimedOut+f.Unhealthy != "" })
}

func TestEveryFactIsReported(t *testing.T) {
	for _, f := range everyFacts() {
		walked := Transitions(Phase{}, f)
		said := fmt.Sprint(walked[len(walked)-1])
		for _, fact := range []struct{ is, want string }{{f.Unmet, f.Unmet}, {f.Refused, f.Refused}, {f.TimedOut, "install timeout"}, {f.Incomplete, f.Incomplete}} {
			if f.Failure == nil && fact.is != "" {
				installtest.Says(t, fmt.Sprintf("with %+v, the phase", f), fact.want, said)
				break
			}
		}
	}
}

// inWords returns a line for each phase.
func inWords(phases []Phase) (lines []string) {
	for _, p := range phases {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.Phase, p.Reason, p.Message))
	}
	return lines
}

// An installed version that is replaced has the phase Replacing.
func TestReplacing(t *testing.T) {
	tests := map[string]struct {
		from        operatorsv1alpha1.ClusterServiceVersionPhase
		reason      operatorsv1alpha1.ConditionReason
		replacedBy  string
		failForward bool
		want        string // the last transition; empty for none
	}{
		"succeeded":                    {"Succeeded", "InstallSucceeded", "shop.v2", false, "Replacing BeingReplaced: being replaced by csv: shop.v2"},
		"replacing":                    {"Replacing", "BeingReplaced", "shop.v2", false, ""},
		"failed":                       {"Failed", "ComponentUnhealthy", "shop.v2", false, ""},
		"failed, failing forward":      {"Failed", "ComponentUnhealthy", "shop.v2", true, "Replacing BeingReplaced: Fail Forward is enabled, allowing Failed csv to be replaced by csv: shop.v2"},
		"the other version is deleted": {"Replacing", "BeingReplaced", "", false, "Installing InstallWaiting: installing: waiting for deployment d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := Facts{ReplacedBy: test.replacedBy, FailForward: test.failForward, Incomplete: "deployment d", Unhealthy: "deployment d"}
			message := ""
			if test.from == "Failed" {
				message = "deployment d"
			}
			got := ""
			for _, p := range Transitions(Phase{test.from, test.reason, message}, f) {
				got = string(p.Phase) + " " + string(p.Reason) + ": " + p.Message
			}
			installtest.Same(t, "the last transition", test.want, got)
		})
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
