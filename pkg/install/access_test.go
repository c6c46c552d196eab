package install

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

var (
	readPods   = policy("pods", "get", "list")
	readLeases = rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"lock"}}
	everything = rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	readHealth = rbacv1.PolicyRule{NonResourceURLs: []string{"/healthz"}, Verbs: []string{"get"}}
)

func TestPolicyRules(t *testing.T) {
	const (
		unmet      = "Policy rule not satisfied for service account: "
		podsRule   = `rule:{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}`
		allWay     = " in all namespaces, which the OperatorGroup targets: a Role grants it in its own namespace only, so bind a ClusterRole with the rules of spec.install.spec.permissions of account shop to it with a ClusterRoleBinding"
		hereWay    = ": bind a Role with the rules of spec.install.spec.permissions of account shop to it there"
		clusterWay = " in the whole cluster: bind a ClusterRole with the rules of spec.install.spec.clusterPermissions of account shop to it with a ClusterRoleBinding"
	)
	for name, test := range map[string]struct {
		permissions, cluster []rbacv1.PolicyRule
		targets              []string
		everywhere           []rbacv1.PolicyRule
		in                   map[string][]rbacv1.PolicyRule
		want                 []string
		message              string
	}{
		"none asked for": {targets: []string{""}},
		"granted in its own namespace": {
			permissions: policies(readPods), targets: []string{"shop"}, in: granted("shop", readPods),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"granted to everybody's surprise": {
			permissions: policies(readPods), targets: []string{"shop"}, everywhere: policies(everything),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"granted in pieces": {
			permissions: policies(readPods), targets: []string{"shop"}, everywhere: policies(policy("pods", "get")), in: granted("shop", policy("pods", "watch", "list")),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"one verb is missing": {
			permissions: policies(readPods), targets: []string{"shop"}, in: granted("shop", policy("pods", "get")),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace shop" + hereWay,
		},
		"granted elsewhere": {
			permissions: policies(readPods), targets: []string{"shop"}, in: granted("blue", readPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace shop" + hereWay,
		},
		"granted in some of the target namespaces": {
			permissions: policies(readPods), targets: []string{"blue", "green", "red"}, in: granted("green", readPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace blue, red, shop" + hereWay,
		},
		"a Role alone, for all namespaces": {
			permissions: policies(readPods), targets: []string{""}, in: granted("shop", readPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods" + allWay,
		},
		"for the cluster, granted": {
			cluster: policies(readPods, readHealth), targets: []string{"shop"}, everywhere: policies(readHealth, everything),
			want: []string{"Satisfied cluster " + podsRule, `Satisfied cluster rule:{"verbs":["get"],"nonResourceURLs":["/healthz"]}`},
		},
		"for the cluster, granted in the namespace": {
			cluster: policies(readPods, readHealth), targets: []string{"shop"}, in: granted("shop", everything),
			want:    []string{"NotSatisfied cluster " + podsRule, `NotSatisfied cluster rule:{"verbs":["get"],"nonResourceURLs":["/healthz"]}`},
			message: unmet + "it may not get, list pods, nor get /healthz" + clusterWay,
		},
		"one of two": {
			permissions: policies(readPods), cluster: policies(readLeases), targets: []string{""}, everywhere: policies(readPods),
			want: []string{
				"Satisfied namespaced " + podsRule,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":["coordination.k8s.io"],"resources":["leases"],"resourceNames":["lock"]}`,
			},
			message: unmet + "it may not get leases of coordination.k8s.io named lock" + clusterWay,
		},
		"more than anybody reads": {
			cluster: policies(policy("a", "get"), policy("b", "get"), policy("c", "get"), policy("d", "get"), policy("e", "get")), targets: []string{""}, everywhere: policies(everything)[:0],
			want: []string{
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["a"]}`, `NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["b"]}`,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["c"]}`, `NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["d"]}`,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["e"]}`,
			},
			message: unmet + "it may not get a, nor get b, nor get c and 2 more (all stand in status.requirementStatus)" + clusterWay,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{
				CSV: permitting("shop"), Targets: test.targets, ServiceAccounts: map[string]*corev1.ServiceAccount{"shop": accountOf("shop")},
				Access: Access{Everywhere: map[string][]rbacv1.PolicyRule{"shop": test.everywhere, "other": {everything}}, In: map[string]map[string][]rbacv1.PolicyRule{}},
			}
			strategy := &facts.CSV.Spec.InstallStrategy.StrategySpec
			strategy.Permissions[0].Rules, strategy.ClusterPermissions[0].Rules = test.permissions, test.cluster
			for namespace, rules := range test.in {
				facts.Access.In[namespace] = map[string][]rbacv1.PolicyRule{"shop": rules}
			}
			verdict := Check(facts)
			account := verdict.Requirements[0]
			var got []string
			for _, d := range account.Dependents {
				if d.Group != "rbac.authorization.k8s.io" || d.Version != "v1" || d.Kind != "PolicyRule" {
					t.Errorf("%+v is no PolicyRule", d)
				}
				got = append(got, string(d.Status)+" "+d.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("dependents (-want +got):\n%s", diff)
			}
			want := operatorsv1alpha1.RequirementStatusReasonPresent
			if test.message != "" {
				want = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
			}
			if account.Status != want || account.Message != test.message || account.UUID != "uid-of-shop" {
				t.Errorf("got %s: %q, want %s: %q", account.Status, account.Message, want, test.message)
			}
			if verdict.Passes() != (test.message == "") {
				t.Errorf("passes: %t", verdict.Passes())
			}
		})
	}
}

// A binding may name an account in five ways.
func TestSubjects(t *testing.T) {
	subjects := SubjectsOf("shop", "server")
	for name, test := range map[string]struct {
		subject rbacv1.Subject
		means   bool
	}{
		"the account":                      {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: "server"}, true},
		"another account":                  {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "shop", Name: "other"}, false},
		"the account of another namespace": {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "blue", Name: "server"}, false},
		"its user":                         {rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "system:serviceaccount:shop:server"}, true},
		"all accounts of the namespace":    {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:shop"}, true},
		"all accounts":                     {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts"}, true},
		"everybody":                        {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"}, true},
		"nobody":                           {rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:unauthenticated"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := slices.Contains(subjects, SubjectKeys([]rbacv1.Subject{test.subject})[0]); got != test.means {
				t.Errorf("it means the account: %t", got)
			}
		})
	}
}

func policy(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

func policies(all ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return all }

func granted(namespace string, rules ...rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{namespace: rules}
}
