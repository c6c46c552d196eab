package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// operatorFacts returns facts about an operator with a webhook, of which nothing is installed.
func operatorFacts() Facts {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))
	covers := installtest.ScopeOf(csv)
	csv.Finalizers, csv.Annotations = []string{wellknown.FinalizerCSV}, covers.Annotations()
	csv.Status.Phase = operatorsv1alpha1.CSVPhaseInstallReady
	return Facts{
		Settings: Settings{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy()},
		CSV:      csv, Scope: covers, Requirements: requirements.Facts{CSV: csv, Targets: covers.Namespaces},
	}
}

// respond returns what an API server without objects answers to a plan.
func respond(t *testing.T, plan Plan) []Result {
	t.Helper()
	var results []Result
	for _, question := range plan.Questions {
		switch q := question.(type) {
		case ReadSecret:
			results = append(results, SecretRead{Name: q.Name})
		case MintCertificate:
			generation := installtest.OrPanic(certs.Mint(q.Request))
			results = append(results, Minted{q.Secret, generation})
		default:
			t.Fatalf("asked: %T", question)
		}
	}
	var created []drift.Object
	for _, step := range plan.Steps {
		results = append(results, Written{Step: step, Object: step.Object, Write: drift.WriteOf(step.Desired, step.Object), At: now})
		created = append(created, step.Object)
	}
	if len(created) > 0 {
		results = append(results, Completed{Plan: plan, Created: created, At: now})
	}
	return results
}

// One reconciliation creates all that does not wait for pods. The results of each decision are facts for the next.
func TestDecisionsContinueWithResults(t *testing.T) {
	f := operatorFacts()
	var results []Result
	var steps []string
	for {
		plan := decided(t, f, results...)
		next := respond(t, plan)
		if len(next) == 0 {
			break
		}
		steps = append(steps, stepsOf(plan)...)
		results = append(results, next...)
	}
	want := []string{
		"create Service shop/manager-service", "create Role shop/manager-service-cert", "create RoleBinding shop/manager-service-cert",
		"create Secret shop/manager-service-cert", "create Deployment shop/manager",
	}
	installtest.Same(t, "steps", want, steps)
}

// Whether the owner of an object exists is an answer: equal facts and results lead to equal plans.
func TestOwnerOfASecret(t *testing.T) {
	f := operatorFacts()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: names.Secret(names.Service("manager")), UID: "3"}}
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: f.CSV.Name}}
	secret.Labels = map[string]string{
		wellknown.LabelOwnerKind: operatorsv1alpha1.ClusterServiceVersionKind, wellknown.LabelOwnerNamespace: "shop", wellknown.LabelOwner: "other.v1",
	}
	f.Secrets = map[string]*corev1.Secret{secret.Name: secret}
	if asked := decided(t, f).Questions; !slices.Contains(asked, Question(FindOwner{"shop/other.v1"})) {
		t.Fatalf("asked: %+v", asked)
	}
	for _, exists := range []bool{true, false} {
		answers := NewAnswers()
		answers.Owners["shop/other.v1"] = exists
		plan := answered(t, f, Results{Answers: answers})
		message := ""
		for _, status := range plan.Status.Deployments {
			if status.Certificate != nil {
				message += status.Certificate.Message
			}
		}
		installtest.Same(t, "it is refused", exists, strings.Contains(message, "belongs to ClusterServiceVersion shop/other.v1"))
	}
}

// The clock is set back after a key was minted, so that its certificate is not valid yet. The
// decision ends with an error, and the retry mints another one.
func TestMintedKeyIsNotValid(t *testing.T) {
	request := certs.Request{Number: 1, Names: certs.DNSNames("manager-service", "shop"), NotBefore: now.Add(time.Hour), NotAfter: now.Add(2 * time.Hour)}
	generation := installtest.OrPanic(certs.Mint(request))
	const secret = "manager-service-cert"
	results := Results{Learned: []Result{SecretRead{Name: secret}, Minted{secret, generation}}, Answers: NewAnswers()}
	_, err := Decide(operatorFacts(), results, now)
	installtest.Error(t, secret, err)
}
