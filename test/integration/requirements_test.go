package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const requirementsNotMet = "one or more requirements couldn't be found"

func needs(c *operatorsv1alpha1.ClusterServiceVersion, serviceAccount string) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: serviceAccount, Rules: []rbacv1.PolicyRule{}}}
	return c
}

func serviceAccount(e *env, account *corev1.ServiceAccount) *corev1.ServiceAccount {
	e.Helper()
	return kube.Create(e, e.kube.CoreV1().ServiceAccounts(e.namespace), account)
}

func TestMissingServiceAccount(t *testing.T) {
	e := newEnv(t)
	e.group("og", allNamespaces)
	e.manage()
	e.create(needs(csv("operator.v1", "server"), "account"))
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	if !strings.HasPrefix(message, requirementsNotMet) || !strings.Contains(message, "account") {
		t.Errorf("message %q, want %q and the name of the account", message, requirementsNotMet)
	}
	want := operatorsv1alpha1.RequirementStatus{Version: "v1", Kind: "ServiceAccount", Name: "account", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent}
	requires(e, want)

	account := serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	want.Status, want.UUID = operatorsv1alpha1.RequirementStatusReasonPresent, string(account.UID)
	requires(e, want)
}

// requires compares the only requirement of operator.v1, except for the message, which is
// for people, and what depends on it.
func requires(e *env, want operatorsv1alpha1.RequirementStatus) {
	e.Helper()
	got := e.get("operator.v1").Status.RequirementStatus
	ignored := cmpopts.IgnoreFields(want, "Message", "Dependents")
	same(e, "status.requirementStatus", got, []operatorsv1alpha1.RequirementStatus{want}, ignored)
}

// Each is held before anything of it is installed, and continues once it is repaired.
func TestUnmetRequirements(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*env, *operatorsv1alpha1.ClusterServiceVersion)
		want    operatorsv1alpha1.RequirementStatus
		message string
		mend    func(*operatorsv1alpha1.ClusterServiceVersion)
	}{
		"a webhook names a Deployment that is not there": {
			spoil: func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].DeploymentName = "sever"
			},
			want: operatorsv1alpha1.RequirementStatus{
				Group: "apps", Version: "v1", Kind: "Deployment", Name: "sever", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
			},
			message: "set spec.webhookdefinitions[0].deploymentName to one of server",
			mend: func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].DeploymentName = "server"
			},
		},
		"another operator's ServiceAccount": {
			spoil: func(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				needs(c, "account")
				serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "other.v1", UID: "0"},
				}}})
			},
			want: operatorsv1alpha1.RequirementStatus{
				Version: "v1", Kind: "ServiceAccount", Name: "account", Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
			},
			message: "owned by another ClusterServiceVersion",
			mend: func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.InstallStrategy.StrategySpec.Permissions = nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			m := e.manage()
			c := csv("operator.v1", "server")
			test.spoil(e, c)
			e.create(c)
			message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
			if !strings.HasPrefix(message, requirementsNotMet) || !strings.Contains(message, test.message) {
				t.Errorf("message %q, want %q and %q", message, requirementsNotMet, test.message)
			}
			requires(e, test.want)
			m.looksAgain("operator.v1")
			registersNothing(e)
			same(t, "the operator's Deployment", e.deployment("server"), nil)
			if r := e.rollout("operator.v1"); r.ReadyRegistrations != 0 || r.Registrations != 1 {
				t.Errorf("the WebhookRollout has %d of %d ready, want 0 of 1", r.ReadyRegistrations, r.Registrations)
			}
			e.edit("operator.v1", test.mend)
			e.succeeds("operator.v1")
		})
	}
}
