package decide

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// factsWithSecret returns facts about an operator whose webhook is live, and the results of live
// reads that show a Secret under the name of its serving certificate.
func factsWithSecret(secret *corev1.Secret) (Facts, Results) {
	f := operatorFacts()
	service := names.Service("manager")
	secret.Namespace, secret.Name, secret.UID, secret.ResourceVersion = "shop", names.Secret(service), "s", "7"
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "live", UID: "live"}}
	live.Webhooks = []admissionregistrationv1.ValidatingWebhook{{Name: "v.shop.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: service},
	}}}
	f.Ownership.Recorded = map[types.UID]bool{"live": true}
	f.Observed.Validating = []*admissionregistrationv1.ValidatingWebhookConfiguration{live}
	results := Results{Learned: []Result{SecretRead{secret.Name, secret}}, Answers: NewAnswers()}
	results.Answers.Trust["manager"] = Trust{Secret: secret, Registrations: Registrations{Validating: f.Observed.Validating}}
	return f, results
}

func verbsFor(plan Plan, o drift.Object) []rollout.Verb {
	return lists.FilterMap(plan.Steps, func(s rollout.Step) (rollout.Verb, bool) { return s.Verb, s.Key() == drift.KeyOf(o) })
}

// recreated is the record of a client that has created an object again after three deletions.
func recreated() (contest drift.Contest) {
	for range 3 {
		contest = contest.Repaired(drift.Drift{By: drift.ByCreation}, now)
	}
	return contest
}

// A Secret of another client that can only be deleted is deleted, and the certificate follows at once.
// While it cannot be deleted, it is read again after a pause.
func TestDeletionOfABlockingSecret(t *testing.T) {
	deletion := func(secret *corev1.Secret) rollout.Step {
		return rollout.Step{Verb: rollout.Delete, Object: secret, Live: secret, Drift: drift.Drift{By: drift.ByCreation}}
	}
	for name, test := range map[string]struct {
		change func(secret *corev1.Secret, f *Facts, results *Results)
		want   []rollout.Verb
	}{
		"nothing prevents it": {func(*corev1.Secret, *Facts, *Results) {}, []rollout.Verb{rollout.Delete}},
		"admission refuses the deletion": {change: func(secret *corev1.Secret, _ *Facts, results *Results) {
			results.Learned = append(results.Learned, Refused{Step: deletion(secret), Why: "denied"})
		}},
		"a finalizer": {change: func(secret *corev1.Secret, _ *Facts, _ *Results) {
			secret.DeletionTimestamp, secret.Finalizers = &metav1.Time{Time: now}, []string{"example.com/keep"}
		}},
		"another client recreates it": {change: func(secret *corev1.Secret, f *Facts, _ *Results) {
			f.Observed.Contests = map[string]drift.Contest{drift.KeyOf(secret): recreated()}
		}},
		"another client recreates it in this reconciliation": {change: func(secret *corev1.Secret, _ *Facts, results *Results) {
			for range 3 {
				results.Learned = append(results.Learned, Written{Step: deletion(secret), Object: secret, At: now}, SecretRead{secret.Name, secret})
			}
		}},
		"the upgrade has not started": {change: func(_ *corev1.Secret, f *Facts, _ *Results) {
			f.Upgrade.From = []*operatorsv1alpha1.ClusterServiceVersion{f.CSV.DeepCopy()}
			other := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager"}}
			other.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			f.Observed.Deployments = map[string]*appsv1.Deployment{"manager": other}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{Type: corev1.SecretTypeOpaque}
			f, results := factsWithSecret(secret)
			test.change(secret, &f, &results)
			plan := answered(t, f, results)
			if len(plan.Questions) > 0 {
				t.Fatalf("asked: %+v", plan.Questions)
			}
			installtest.Same(t, "what the plan does", test.want, verbsFor(plan, secret))
			if again := plan.Requeue.At.Sub(now); (again <= 0) != (len(test.want) > 0) || again > 30*time.Second {
				t.Errorf("it is reconciled again after %s (%s)", again, plan.Requeue.Reason)
			}
		})
	}
}

// An immutable Secret is deleted and created together. While another client recreates it, neither
// is done: the creation alone would find that client's Secret without end.
func TestRecreatedImmutableSecret(t *testing.T) {
	for name, test := range map[string]struct {
		contest drift.Contest
		want    []rollout.Verb
	}{
		"first":                       {drift.Contest{}, []rollout.Verb{rollout.Delete, rollout.Create}},
		"another client recreates it": {recreated(), nil},
	} {
		secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Immutable: new(true)}
		f, results := factsWithSecret(secret)
		owned := csvspec.OwnedMeta(f.CSV, secret.Name)
		secret.Labels, secret.OwnerReferences = owned.Labels, owned.OwnerReferences
		f.Observed.Contests = map[string]drift.Contest{drift.KeyOf(secret): test.contest}
		plan := answered(t, f, results)
		for len(plan.Questions) > 0 {
			results.Learned = append(results.Learned, respond(t, plan)...)
			plan = answered(t, f, results)
		}
		installtest.Same(t, name+": what the plan does", test.want, verbsFor(plan, secret))
		if again := plan.Requeue.At.Sub(now); test.want == nil && again <= 0 {
			t.Errorf("%s: it is reconciled again after %s (%s)", name, again, plan.Requeue.Reason)
		}
	}
}
