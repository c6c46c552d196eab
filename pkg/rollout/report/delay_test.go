package report

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// csv is the status of a ClusterServiceVersion that came into a phase at an instant.
func said(p phase.Phase, at time.Time) operatorsv1alpha1.ClusterServiceVersionStatus {
	updated := metav1.NewTime(at)
	return operatorsv1alpha1.ClusterServiceVersionStatus{Phase: p.Phase, Reason: p.Reason, Message: p.Message, LastUpdateTime: &updated}
}

// underWay is what a WebhookRollout says of an installation: one webhook in a state, which
// is explained by a word.
func underWay(state managerv1alpha1.WebhookState, word string, change ...func(*managerv1alpha1.WebhookRolloutStatus)) managerv1alpha1.WebhookRolloutStatus {
	since := metav1.NewTime(noon)
	status := managerv1alpha1.WebhookRolloutStatus{
		ObservedGeneration: 1,
		Conditions:         []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: word, Message: word}},
		Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "server", State: managerv1alpha1.DeploymentState(word), Reason: word, Message: word,
			Certificate: &managerv1alpha1.CertificateStatus{Generation: 1, Endpoints: &managerv1alpha1.CertificateEndpoints{Total: int32(len(word))}, Message: word},
			Webhooks:    []managerv1alpha1.WebhookStatus{{GenerateName: "v.example.com", State: state, Reason: word, Message: word, Since: &since}},
		}},
	}
	for _, f := range change {
		f(&status)
	}
	return status
}

// What an installation waits for is told once it has waited a while, and anything else
// at once.
func TestTellAt(t *testing.T) {
	const waiting, registered = managerv1alpha1.WebhookWaiting, managerv1alpha1.WebhookRegistered
	nothing, silence := operatorsv1alpha1.ClusterServiceVersionStatus{}, managerv1alpha1.WebhookRolloutStatus{}
	created, told := noon.Add(3*time.Second), noon.Add(10*time.Second)
	begins := []phase.Phase{phase.Unknown, phase.Ready, phase.Installing, phase.Waiting.Because("b")}
	goesOn := []phase.Phase{phase.Waiting.Because("b")}
	another := func(s *managerv1alpha1.WebhookRolloutStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: managerv1alpha1.ConditionOrderRelaxed, Status: metav1.ConditionTrue})
	}
	forNothing := func(s *managerv1alpha1.WebhookRolloutStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: managerv1alpha1.ConditionRulesMatchNothing, Status: metav1.ConditionTrue})
	}
	upgrades := func(s *managerv1alpha1.WebhookRolloutStatus) { s.Upgrade = &managerv1alpha1.UpgradeStatus{} }
	renewed := func(s *managerv1alpha1.WebhookRolloutStatus) { s.Deployments[0].Certificate.Generation = 2 }
	atOnce := time.Time{}

	for name, test := range map[string]struct {
		said    operatorsv1alpha1.ClusterServiceVersionStatus
		before  managerv1alpha1.WebhookRolloutStatus
		phases  []phase.Phase
		after   managerv1alpha1.WebhookRolloutStatus
		without bool // a Deployment
		want    time.Time
	}{
		"it begins":                           {said: nothing, phases: begins, after: underWay(waiting, "b"), want: created.Add(3 * time.Second)},
		"it begins without a Deployment":      {said: nothing, phases: begins, after: underWay(waiting, "b"), without: true, want: atOnce},
		"it begins as an upgrade":             {said: nothing, phases: begins, after: underWay(waiting, "b", upgrades), want: atOnce},
		"it begins in another order":          {said: nothing, phases: begins, after: underWay(waiting, "b", another), want: atOnce},
		"it begins with rules for nothing":    {said: nothing, phases: begins, after: underWay(waiting, "b", forNothing), want: created.Add(3 * time.Second)},
		"it begins, and a webhook is blocked": {said: nothing, phases: begins, after: underWay(managerv1alpha1.WebhookBlocked, "b"), want: atOnce},
		"it begins, and is over":              {said: nothing, phases: append(begins, phase.Succeeded), after: underWay(registered, "b"), want: atOnce},
		"it begins, and fails":                {said: nothing, phases: append(begins, phase.Refused), after: underWay(waiting, "b"), want: atOnce},
		"it waits for requirements":           {said: nothing, phases: []phase.Phase{phase.Unknown, phase.Unmet}, after: underWay(waiting, "b"), want: atOnce},
		"requirements are met":                {said: said(phase.Unmet, told), phases: begins[1:], after: underWay(waiting, "b"), want: atOnce},
		"it is installed again":               {said: said(phase.Succeeded, told), phases: []phase.Phase{phase.Reinstall, phase.Ready, phase.Installing}, after: underWay(waiting, "b"), want: atOnce},

		"it waits for something else":         {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), goesOn, underWay(waiting, "b"), false, told.Add(9 * time.Second)},
		"it waits for the same":               {said(phase.Waiting.Because("b"), told), underWay(waiting, "a"), nil, underWay(waiting, "b"), false, told.Add(9 * time.Second)},
		"the ClusterServiceVersion is heard":  {said(phase.Waiting.Because("a"), told), silence, goesOn, underWay(waiting, "b"), false, told.Add(9 * time.Second)},
		"a webhook is registered":             {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), goesOn, underWay(registered, "b"), false, told.Add(9 * time.Second)},
		"a webhook is taken away":             {said(phase.Waiting.Because("a"), told), underWay(registered, "a"), goesOn, underWay(waiting, "b"), false, told.Add(9 * time.Second)},
		"the order is relaxed":                {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), goesOn, underWay(waiting, "b", another), false, told.Add(9 * time.Second)},
		"the order is not relaxed any more":   {said(phase.Waiting.Because("a"), told), underWay(waiting, "a", another), goesOn, underWay(waiting, "b"), false, told.Add(9 * time.Second)},
		"a webhook was unregistered meantime": {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), goesOn, underWay(waiting, "b", upgrades), false, told.Add(9 * time.Second)},
		"there is another certificate":        {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), goesOn, underWay(waiting, "b", renewed), false, told.Add(9 * time.Second)},
		"it is over":                          {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), []phase.Phase{phase.Succeeded}, underWay(waiting, "a"), false, atOnce},
		"it takes too long":                   {said(phase.Waiting.Because("a"), told), underWay(waiting, "a"), []phase.Phase{phase.Timeout}, underWay(waiting, "a"), false, atOnce},
		"a Deployment is gone":                {said(phase.Succeeded, told), underWay(registered, "a"), nil, underWay(registered, "b"), false, atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			deployments := map[string]*appsv1.Deployment{
				"earlier": {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}},
				"server":  {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}},
			}
			if test.without {
				deployments = nil
			}
			if got := DelayUntil(test.said, test.before, test.after, test.phases, deployments, 2*time.Second); !got.Equal(test.want) {
				t.Errorf("it is told at %v, want %v", got, test.want)
			}
			if got := DelayUntil(test.said, test.before, test.after, test.phases, deployments, 0); !got.IsZero() {
				t.Errorf("without patience it is told at %v", got)
			}
		})
	}
}
