package report

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestEvents(t *testing.T) {
	const (
		waiting     = managerv1alpha1.WebhookWaiting
		registered  = managerv1alpha1.WebhookRegistered
		unreachable = managerv1alpha1.WebhookUnreachable
		blocked     = managerv1alpha1.WebhookBlocked
	)
	// status returns a status with one webhook in a state, or none, and conditions that are true.
	status := func(state managerv1alpha1.WebhookState, conditions ...string) managerv1alpha1.WebhookRolloutStatus {
		var s managerv1alpha1.WebhookRolloutStatus
		for _, kind := range conditions {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, Message: "because"})
		}
		if state != "" {
			s.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", Webhooks: []managerv1alpha1.WebhookStatus{
				{GenerateName: "v.example.com", Configuration: "v.example.com-1", State: state, Message: "because"},
			}}}
		}
		return s
	}
	// intercepting returns a status whose webhook waits and intercepts some requests.
	intercepting := func(intercepts string, beyondScope, exempt []string) managerv1alpha1.WebhookRolloutStatus {
		s := status(waiting)
		w := &s.Deployments[0].Webhooks[0]
		w.Intercepts, w.BeyondScope, w.Exempt = intercepts, beyondScope, exempt
		return s
	}
	unknown := status(registered, "CallsFail")
	unknown.Conditions[0].Status = metav1.ConditionUnknown
	interceptsPods := Event{false, "WebhookIntercepts", "webhook v.example.com intercepts CREATE of pods"}
	const cannotBecomeAvailable = "webhook v.example.com could not become available again while no endpoint answers it: requests of the cluster's own components about "
	for name, test := range map[string]struct {
		before, after managerv1alpha1.WebhookRolloutStatus
		want          []Event
	}{
		"nothing":                       {status(""), status(""), nil},
		"a webhook waits at first":      {status(""), status(waiting), nil},
		"it still waits":                {status(waiting), status(waiting), nil},
		"it is registered":              {status(waiting), status(registered), []Event{{false, "WebhookRegistered", "webhook v.example.com is registered as v.example.com-1 and serves"}}},
		"it was registered already":     {status(""), status(registered), []Event{{false, "WebhookRegistered", "webhook v.example.com is registered as v.example.com-1 and serves"}}},
		"it stays registered":           {status(registered), status(registered), nil},
		"it is unreachable":             {status(registered), status(unreachable), []Event{{true, "WebhookUnreachable", "webhook v.example.com stays registered and no endpoint answers: because"}}},
		"it is reachable again":         {status(unreachable), status(registered), []Event{{false, "WebhookRegistered", "webhook v.example.com is registered as v.example.com-1 and serves"}}},
		"it is blocked":                 {status(waiting), status(blocked), []Event{{true, "WebhookBlocked", "webhook v.example.com cannot be registered: because"}}},
		"it is not blocked any more":    {status(blocked), status(waiting), nil},
		"it is unregistered":            {status(registered), status(waiting), []Event{{true, "WebhookUnregistered", "webhook v.example.com is not registered any more: because"}}},
		"it is not declared any more":   {status(registered), status(""), nil},
		"calls fail":                    {status(registered), status(registered, "CallsFail"), []Event{{true, "CallsFail", "because"}}},
		"it is unknown whether they do": {status(registered), unknown, nil},
		"they fail after all":           {unknown, status(registered, "CallsFail"), []Event{{true, "CallsFail", "because"}}},
		"the order is relaxed":          {status(waiting), status(waiting, "OrderRelaxed"), []Event{{true, "OrderRelaxed", "because"}}},
		"the order stays relaxed":       {status(waiting, "OrderRelaxed"), status(waiting, "OrderRelaxed"), nil},
		"another client contests":       {status(registered), status(registered, "Contested"), []Event{{true, "Contested", "because"}}},
		"the contest ends":              {status(registered, "Contested"), status(registered), nil},
		"it intercepts requests":        {status(""), intercepting("CREATE of pods", nil, nil), []Event{interceptsPods}},
		"it intercepted them before":    {intercepting("CREATE of pods", nil, nil), intercepting("CREATE of pods", nil, nil), nil},
		"it intercepts other requests":  {intercepting("CREATE of nodes", nil, nil), intercepting("CREATE of pods", nil, nil), []Event{interceptsPods}},
		"it intercepts cluster-scoped resources": {status(waiting), intercepting("CREATE of nodes", []string{"nodes"}, nil), []Event{
			{true, "WebhookIntercepts", "webhook v.example.com intercepts CREATE of nodes; nodes are in no namespace: the OperatorGroup does not limit who is intercepted"},
		}},
		"it could block its own pods": {status(waiting), intercepting("CREATE of pods", nil, []string{"its own pods"}), []Event{
			interceptsPods, {false, "SelfDeadlockPrevented", cannotBecomeAvailable + "its own pods pass it by"},
		}},
		"it could block them before": {intercepting("", nil, []string{"its own pods"}), intercepting("", nil, []string{"its own pods"}), nil},
		"it is ready":                {status(registered), status(registered, "Ready"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := EventsOf(test.before, test.after)
			if len(got) == 0 {
				got = nil
			}
			installtest.Same(t, "events", test.want, got)
		})
	}
}

// The message of an event has at most 1024 characters. A rule may name more.
func TestLongEventsAreCut(t *testing.T) {
	w := managerv1alpha1.WebhookStatus{GenerateName: "v.example.com", Intercepts: strings.Repeat("CREATE of pods; ", 100)}
	message := interceptionEvents(nil, w)[0].Message
	if len(message) > 1000 || !strings.HasSuffix(message, "(the WebhookRollout reports it all)") {
		t.Errorf("%d characters end in %q", len(message), message[len(message)-40:])
	}
}
