package report

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// csvStatus returns the status of a ClusterServiceVersion in a phase since a time.
func csvStatus(p phase.Phase, at time.Time) operatorsv1alpha1.ClusterServiceVersionStatus {
	updated := metav1.NewTime(at)
	return operatorsv1alpha1.ClusterServiceVersionStatus{Phase: p.Phase, Reason: p.Reason, Message: p.Message, LastUpdateTime: &updated}
}

// rolloutStatus returns the status of a WebhookRollout during an installation with one webhook.
func rolloutStatus(state managerv1alpha1.WebhookState, word string, change ...func(*managerv1alpha1.WebhookRolloutStatus)) managerv1alpha1.WebhookRolloutStatus {
	since := metav1.NewTime(noon)
	status := managerv1alpha1.WebhookRolloutStatus{
		ObservedGeneration: 1,
		Conditions:         []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: word, Message: word}},
		Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "server", State: managerv1alpha1.DeploymentState(word), Reason: word, Message: word,
			Certificate: &managerv1alpha1.CertificateStatus{Generation: 1, Endpoints: &managerv1alpha1.CertificateEndpoints{Total: int32(len(word))}, Message: word},
			Webhooks:    []managerv1alpha1.WebhookStatus{{GenerateName: "v.example.com", State: state, Reason: word, Message: word, LastTransitionTime: &since}},
		}},
	}
	for _, f := range change {
		f(&status)
	}
	return status
}

// A wait of an installation is reported after a delay, anything else at once.
func TestDelayUntil(t *testing.T) {
	const waiting, registered = managerv1alpha1.WebhookWaiting, managerv1alpha1.WebhookRegistered
	nothing, empty := operatorsv1alpha1.ClusterServiceVersionStatus{}, managerv1alpha1.WebhookRolloutStatus{}
	created, reported := noon.Add(3*time.Second), noon.Add(10*time.Second)
	begin := []phase.Phase{phase.Pending, phase.Ready, phase.Installing, phase.Waiting.Because("b")}
	continues := []phase.Phase{phase.Waiting.Because("b")}
	orderRelaxed := func(s *managerv1alpha1.WebhookRolloutStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: managerv1alpha1.ConditionOrderRelaxed, Status: metav1.ConditionTrue})
	}
	rulesMatchNothing := func(s *managerv1alpha1.WebhookRolloutStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: managerv1alpha1.ConditionRulesMatchNothing, Status: metav1.ConditionTrue})
	}
	upgrade := func(s *managerv1alpha1.WebhookRolloutStatus) { s.Upgrade = &managerv1alpha1.UpgradeStatus{} }
	renewed := func(s *managerv1alpha1.WebhookRolloutStatus) { s.Deployments[0].Certificate.Generation = 2 }
	atOnce := time.Time{}

	for name, test := range map[string]struct {
		csvStatus    operatorsv1alpha1.ClusterServiceVersionStatus
		before       managerv1alpha1.WebhookRolloutStatus
		phases       []phase.Phase
		after        managerv1alpha1.WebhookRolloutStatus
		noDeployment bool
		want         time.Time
	}{
		"it begins":                           {csvStatus: nothing, phases: begin, after: rolloutStatus(waiting, "b"), want: created.Add(3 * time.Second)},
		"it begins without a Deployment":      {csvStatus: nothing, phases: begin, after: rolloutStatus(waiting, "b"), noDeployment: true, want: atOnce},
		"it begins as an upgrade":             {csvStatus: nothing, phases: begin, after: rolloutStatus(waiting, "b", upgrade), want: atOnce},
		"it begins in another order":          {csvStatus: nothing, phases: begin, after: rolloutStatus(waiting, "b", orderRelaxed), want: atOnce},
		"it begins with rules for nothing":    {csvStatus: nothing, phases: begin, after: rolloutStatus(waiting, "b", rulesMatchNothing), want: created.Add(3 * time.Second)},
		"it begins, and a webhook is blocked": {csvStatus: nothing, phases: begin, after: rolloutStatus(managerv1alpha1.WebhookBlocked, "b"), want: atOnce},
		"it begins, and is over":              {csvStatus: nothing, phases: append(begin, phase.Succeeded), after: rolloutStatus(registered, "b"), want: atOnce},
		"it begins, and fails":                {csvStatus: nothing, phases: append(begin, phase.Refused), after: rolloutStatus(waiting, "b"), want: atOnce},
		"it waits for requirements":           {csvStatus: nothing, phases: []phase.Phase{phase.Pending, phase.Unmet}, after: rolloutStatus(waiting, "b"), want: atOnce},
		"requirements are met":                {csvStatus: csvStatus(phase.Unmet, reported), phases: begin[1:], after: rolloutStatus(waiting, "b"), want: atOnce},
		"it is installed again":               {csvStatus: csvStatus(phase.Succeeded, reported), phases: []phase.Phase{phase.Reinstall, phase.Ready, phase.Installing}, after: rolloutStatus(waiting, "b"), want: atOnce},

		"it waits for something else":         {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), continues, rolloutStatus(waiting, "b"), false, reported.Add(9 * time.Second)},
		"it waits for the same":               {csvStatus(phase.Waiting.Because("b"), reported), rolloutStatus(waiting, "a"), nil, rolloutStatus(waiting, "b"), false, reported.Add(9 * time.Second)},
		"no status was reported":              {csvStatus(phase.Waiting.Because("a"), reported), empty, continues, rolloutStatus(waiting, "b"), false, reported.Add(9 * time.Second)},
		"a webhook is registered":             {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), continues, rolloutStatus(registered, "b"), false, reported.Add(9 * time.Second)},
		"a webhook is unregistered":           {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(registered, "a"), continues, rolloutStatus(waiting, "b"), false, reported.Add(9 * time.Second)},
		"the order is relaxed":                {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), continues, rolloutStatus(waiting, "b", orderRelaxed), false, reported.Add(9 * time.Second)},
		"the order is not relaxed any more":   {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a", orderRelaxed), continues, rolloutStatus(waiting, "b"), false, reported.Add(9 * time.Second)},
		"a webhook was unregistered meantime": {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), continues, rolloutStatus(waiting, "b", upgrade), false, reported.Add(9 * time.Second)},
		"there is another certificate":        {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), continues, rolloutStatus(waiting, "b", renewed), false, reported.Add(9 * time.Second)},
		"it is over":                          {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), []phase.Phase{phase.Succeeded}, rolloutStatus(waiting, "a"), false, atOnce},
		"it takes too long":                   {csvStatus(phase.Waiting.Because("a"), reported), rolloutStatus(waiting, "a"), []phase.Phase{phase.Timeout}, rolloutStatus(waiting, "a"), false, atOnce},
		"a Deployment is deleted":             {csvStatus(phase.Succeeded, reported), rolloutStatus(registered, "a"), nil, rolloutStatus(registered, "b"), false, atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			deployments := map[string]*appsv1.Deployment{
				"earlier": {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}},
				"server":  {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}},
			}
			if test.noDeployment {
				deployments = nil
			}
			installtest.Same(t, "reported at", test.want, DelayUntil(test.csvStatus, test.before, test.after, test.phases, deployments, 2*time.Second))
			installtest.Same(t, "without a delay", time.Time{}, DelayUntil(test.csvStatus, test.before, test.after, test.phases, deployments, 0))
		})
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
