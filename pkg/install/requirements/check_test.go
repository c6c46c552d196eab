package requirements

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRequirements(t *testing.T) {
	const (
		present      = operatorsv1alpha1.RequirementStatusReasonPresent
		notPresent   = operatorsv1alpha1.RequirementStatusReasonNotPresent
		notSatisfied = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
	)
	account := func(status operatorsv1alpha1.StatusReason, uuid, message string) operatorsv1alpha1.RequirementStatus {
		return operatorsv1alpha1.RequirementStatus{Version: "v1", Kind: "ServiceAccount", Name: "shop", Status: status, UUID: uuid, Message: message}
	}
	const missingAccount = "Service account does not exist: create it, with the permissions that spec.install.spec asks for, in namespace shop"

	for name, test := range map[string]struct {
		csv      *operatorsv1alpha1.ClusterServiceVersion
		accounts []*corev1.ServiceAccount
		want     []operatorsv1alpha1.RequirementStatus
		unmet    string
	}{
		"none": {csv: installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))},
		"a ServiceAccount that exists": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{installtest.AccountOf("shop")},
			want: []operatorsv1alpha1.RequirementStatus{account(present, "uid-of-shop", "")},
		},
		"a ServiceAccount that is not": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{installtest.AccountOf("other")},
			want:  []operatorsv1alpha1.RequirementStatus{account(notPresent, "", missingAccount)},
			unmet: "ServiceAccount shop: " + missingAccount,
		},
		"a ServiceAccount of its own": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{installtest.AccountOf("shop", "shop.v0", "shop.v1")},
			want: []operatorsv1alpha1.RequirementStatus{account(present, "uid-of-shop", "")},
		},
		"a ServiceAccount of another operator's": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{installtest.AccountOf("shop", "other.v1")},
			want:  []operatorsv1alpha1.RequirementStatus{account(notSatisfied, "", "Service account is owned by another ClusterServiceVersion")},
			unmet: "ServiceAccount shop: Service account is owned by another ClusterServiceVersion",
		},
		"a ServiceAccount that a kind of another group owns": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{ownedBy(installtest.AccountOf("shop"), "ClusterServiceVersion.evil.example.com", "other.v1")},
			want: []operatorsv1alpha1.RequirementStatus{account(present, "uid-of-shop", "")},
		},
		"a ServiceAccount of another operator's, and of a kind of another group": {
			csv: permitting("shop"), accounts: []*corev1.ServiceAccount{ownedBy(installtest.AccountOf("shop", "other.v1"), "ClusterServiceVersion.evil.example.com", "shop.v1")},
			want:  []operatorsv1alpha1.RequirementStatus{account(notSatisfied, "", "Service account is owned by another ClusterServiceVersion")},
			unmet: "ServiceAccount shop: Service account is owned by another ClusterServiceVersion",
		},
		"one ServiceAccount for several permissions": {
			csv: permitting("shop", "shop"), accounts: []*corev1.ServiceAccount{installtest.AccountOf("shop")},
			want: []operatorsv1alpha1.RequirementStatus{account(present, "uid-of-shop", "")},
		},
		"a webhook of a Deployment that is not there": {
			csv: installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("extra")), installtest.ServedBy("manger")),
			want: []operatorsv1alpha1.RequirementStatus{{
				Group: "apps", Version: "v1", Kind: "Deployment", Name: "manger", Status: notPresent,
				Message: `webhook "v.shop.example.com" names a Deployment that the ClusterServiceVersion does not have: set spec.webhookdefinitions[0].deploymentName to one of manager, extra`,
			}},
			unmet: `Deployment manger: webhook "v.shop.example.com" names a Deployment that the ClusterServiceVersion does not have: set spec.webhookdefinitions[0].deploymentName to one of manager, extra`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{CSV: test.csv, ServiceAccounts: map[string]*corev1.ServiceAccount{}}
			for _, a := range test.accounts {
				facts.ServiceAccounts[a.Name] = a
			}
			verdict := Check(facts)
			installtest.Same(t, "requirements", test.want, verdict.Requirements)
			installtest.Same(t, "unmet", test.unmet, verdict.Unmet())
			installtest.Same(t, "passes", test.unmet == "", verdict.Passes())
		})
	}
}

// permitting is an operator with permissions, and cluster permissions, for ServiceAccounts.
func permitting(accounts ...string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := installtest.Operator(nil)
	strategy := &csv.Spec.InstallStrategy.StrategySpec
	for _, account := range accounts {
		permissions := operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account}
		strategy.Permissions = append(strategy.Permissions, permissions)
		strategy.ClusterPermissions = append(strategy.ClusterPermissions, permissions)
	}
	return csv
}

func TestInvalid(t *testing.T) {
	everything := installtest.RuleOf([]string{"*"}, []string{"*"})
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Rules = append(d.Rules, everything)
	}), installtest.ServedBy("manager"))
	verdict := Check(Facts{CSV: csv})

	want := allGroups + `: spec.webhookdefinitions[0].rules[1] of "v.shop.example.com" does; name the API groups that the webhook handles; ` +
		`CSV contains repeated WebhookDescription name: spec.webhookdefinitions[0] and [1] both have generateName "v.shop.example.com"; give each its own`
	installtest.Same(t, "violations", want, verdict.Invalid())
	installtest.Same(t, "it passes", false, verdict.Passes())
}

func TestMinKubeVersion(t *testing.T) {
	for name, test := range map[string]struct {
		least, served string
		met           bool
		message       string
	}{
		"older":            {"1.20.0", "v1.36.3", true, "CSV minKubeVersion (1.20.0) less than server version (v1.36.3)"},
		"with a v":         {"v1.20.0", "v1.36.3", true, "CSV minKubeVersion (v1.20.0) less than server version (v1.36.3)"},
		"the same":         {"1.36.3", "v1.36.3", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3)"},
		"with prerelease":  {"1.19.0-0", "v1.36.3", true, "CSV minKubeVersion (1.19.0-0) less than server version (v1.36.3)"},
		"a vendor's build": {"1.36.3", "v1.36.3-gke.100", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3-gke.100)"},
		"with metadata":    {"1.36.3", "v1.36.3+k3s1", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3+k3s1)"},
		"newer":            {"1.37.0", "v1.36.3", false, "CSV version requirement not met: minKubeVersion (1.37.0) > server version (1.36.3)"},
		"two numbers":      {"1.20", "v1.36.3", false, `CSV version parsing error: write spec.minKubeVersion as major.minor.patch, not "1.20"`},
		"no answer":        {"1.20.0", "", false, "the API server has not answered which version it is: see kubectl get --raw /version"},
		"a strange server": {"1.20.0", "unknown", false, `Server version parsing error: the API server reports that it is "unknown"`},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.MinKubeVersion = test.least
			verdict := Check(Facts{CSV: csv, Kubernetes: test.served})
			want := operatorsv1alpha1.RequirementStatus{
				Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion", Name: "shop.v1",
				Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied, Message: test.message,
			}
			requeueAfter := longestAPIPause
			if test.met {
				want.Status = operatorsv1alpha1.RequirementStatusReasonPresent
			}
			if test.met || strings.HasPrefix(test.message, "CSV version parsing error") {
				requeueAfter = 0 // nothing but an edit ends it
			}
			installtest.Same(t, "requirements", []operatorsv1alpha1.RequirementStatus{want}, verdict.Requirements)
			installtest.Same(t, "it asks again after", requeueAfter, verdict.RequeueAfter)
			installtest.Same(t, "passes", test.met, verdict.Passes())
		})
	}
}

func ownedBy(account *corev1.ServiceAccount, kind, name string) *corev1.ServiceAccount {
	account.OwnerReferences = append(account.OwnerReferences, installtest.OwnerOf(kind, name))
	return account
}
