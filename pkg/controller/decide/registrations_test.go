package decide

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The decision about a certificate knows which client contests a registration, as long as the contest lasts.
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

// A contest over other fields of a registration does not prevent the write of its caBundle. A client counts as long as the
// manager pauses.
func TestBlockedTrust(t *testing.T) {
	own := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "manager-service"}}
	const webhook = `k:{\"name\":\"v\"}`
	for name, test := range map[string]struct {
		by, fields string // of the contest, and what the client owns
		blocked    bool
	}{
		"the caBundle":                   {"cainjector", `{"f:webhooks":{"` + webhook + `":{"f:clientConfig":{"f:caBundle":{}}}}}`, true},
		"the failurePolicy":              {"adversary", `{"f:webhooks":{"` + webhook + `":{"f:failurePolicy":{}}}}`, false},
		"the caBundle, of several names": {drift.ByAnyClient, `{"f:webhooks":{"` + webhook + `":{"f:clientConfig":{"f:caBundle":{}}}}}`, true},
		"the object, which is deleted":   {"", "", false},
		"the object, which is recreated": {drift.ByCreation, "", false},
		"fields that admission refuses":  {drift.ByAdmission, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			live := &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v", ClientConfig: own}},
			}
			if test.fields != "" {
				live.ManagedFields = []metav1.ManagedFieldsEntry{{
					Manager: test.by, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(test.fields),
				}}
			}
			var contest drift.Contest
			for range map[bool]int{false: 3, true: 30}[test.by == drift.ByAnyClient] {
				contest = contest.Repaired(drift.Drift{By: test.by}, now)
			}
			f := operatorFacts()
			f.Observed.Validating = []*admissionregistrationv1.ValidatingWebhookConfiguration{live}
			f.Observed.Contests = map[string]drift.Contest{drift.KeyOf(live): contest}
			for at, want := range map[time.Time]bool{now: test.blocked, now.Add(90 * time.Second): false} {
				registrations := (&certifier{decision: newDecision(f, Results{}, at), service: "manager-service"}).registered()
				installtest.Same(t, "blocked at "+at.String(), want, registrations[0].Blocked)
				installtest.Same(t, "contested", true, registrations[0].Contested != "")
			}
		})
	}
}

// The status of the WebhookRollout names the unlabelled registrations that are read, and their uids.
// Only registrations that call the operator's own Services, or have a derived name, belong to it.
func TestUnlabelledRegistrations(t *testing.T) {
	f := operatorFacts()
	described := f.CSV.Spec.WebhookDefinitions[0]
	derived := names.WebhookConfiguration(described.GenerateName, f.CSV.Namespace, f.CSV.Name, string(described.Type))
	const recorded = types.UID("recorded")
	f.Ownership = owners.Ownership{Versions: []*operatorsv1alpha1.ClusterServiceVersion{f.CSV}, Recorded: map[types.UID]bool{recorded: true}}
	client := func(namespace, service string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: service}}
	}
	own, other := client("shop", "manager-service"), client("gatekeeper", "gatekeeper-webhook-service")
	otherOperator := csvspec.OwnerLabels(&operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "other.v1"}})
	for title, test := range map[string]struct {
		name    string
		labels  map[string]string
		calls   admissionregistrationv1.WebhookClientConfig
		adopted bool
	}{
		"calls the operator's Service":                  {name: "v-x7k2p", calls: own, adopted: true},
		"has the derived name":                          {name: derived, calls: other, adopted: true},
		"only recorded":                                 {name: "gatekeeper-validating-webhook-configuration", calls: other},
		"only recorded, calls a namesake":               {name: "v", calls: client("gatekeeper", "manager-service")},
		"has the labels of another operator that lives": {name: "v", calls: own, labels: otherOperator},
	} {
		t.Run(title, func(t *testing.T) {
			meta := metav1.ObjectMeta{Name: test.name, UID: recorded, Labels: test.labels}
			for kind, o := range map[string]drift.Object{
				"validating": &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: test.calls}}},
				"mutating":   &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: test.calls}}},
			} {
				answers := NewAnswers()
				answers.Owners["elsewhere/other.v1"] = true
				read := trusted{secret: "manager-service-cert", Trust: Trust{Unlabelled: []drift.Object{o}}}
				d := newDecision(f, Results{Learned: []Result{read}, Answers: answers}, now)
				installtest.Same(t, kind+": adopted", test.adopted, len(d.Observed.Validating)+len(d.Observed.Mutating) == 1)
			}
		})
	}
}
