package decide

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The decision about a certificate knows which client contests a registration, as long as the
// contest lasts.
func TestContestedRegistration(t *testing.T) {
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "manager-service"},
		}}},
	}
	var contest drift.Contest
	for repairs, contested := range []bool{false, false, false, true} {
		f := operatorFacts()
		f.Observed.Validating = []*admissionregistrationv1.ValidatingWebhookConfiguration{live}
		f.Observed.Contests = map[string]drift.Contest{drift.KeyOf(live): contest}
		for at, want := range map[time.Time]bool{now: contested, now.Add(time.Hour): false} {
			registrations := (&certifier{decision: newDecision(f, Results{}, at), service: "manager-service"}).registered()
			if len(registrations) != 1 || strings.Contains(registrations[0].Contested, `"cainjector"`) != want {
				t.Errorf("after %d repairs, at %s: %+v", repairs, at, registrations)
			}
		}
		contest = contest.Repaired(drift.Drift{Fields: []string{"webhooks.clientConfig.caBundle"}, By: "cainjector"}, now)
	}
}
