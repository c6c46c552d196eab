package requirements

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
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
		unlisted             []string
		want                 []string
		message              string
	}{
		"none asked for": {targets: []string{""}},
		"granted in its own namespace": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"shop"}, in: installtest.Granted("shop", installtest.ReadPods),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"granted to everybody's surprise": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"shop"}, everywhere: installtest.Policies(installtest.Everything),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"granted in pieces": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"shop"}, everywhere: installtest.Policies(installtest.Policy("pods", "get")), in: installtest.Granted("shop", installtest.Policy("pods", "watch", "list")),
			want: []string{"Satisfied namespaced " + podsRule},
		},
		"one verb is missing": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"shop"}, in: installtest.Granted("shop", installtest.Policy("pods", "get")),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace shop" + hereWay,
		},
		"granted elsewhere": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"shop"}, in: installtest.Granted("blue", installtest.ReadPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace shop" + hereWay,
		},
		"granted in some of the target namespaces": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"blue", "green", "red"}, in: installtest.Granted("green", installtest.ReadPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace blue, red, shop" + hereWay,
		},
		"a Role alone, for all namespaces": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{""}, in: installtest.Granted("shop", installtest.ReadPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods" + allWay,
		},
		"a Role that no InstallPlan lists, for all namespaces": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{""}, unlisted: []string{"reader"},
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in all namespaces: Role reader is not lifted, because no InstallPlan lists it: install the operator by a Subscription, or bind a ClusterRole to it with a ClusterRoleBinding",
		},
		"Roles that no InstallPlan lists, for a target": {
			permissions: installtest.Policies(installtest.ReadPods), targets: []string{"blue", "shop"}, unlisted: []string{"other", "reader"}, in: installtest.Granted("shop", installtest.ReadPods),
			want:    []string{"NotSatisfied namespaced " + podsRule},
			message: unmet + "it may not get, list pods in namespace blue: Role other, reader is not lifted, because no InstallPlan lists it: install the operator by a Subscription, or bind a Role to it there",
		},
		"for the cluster, granted": {
			cluster: installtest.Policies(installtest.ReadPods, installtest.ReadHealth), targets: []string{"shop"}, everywhere: installtest.Policies(installtest.ReadHealth, installtest.Everything),
			want: []string{"Satisfied cluster " + podsRule, `Satisfied cluster rule:{"verbs":["get"],"nonResourceURLs":["/healthz"]}`},
		},
		"for the cluster, granted in the namespace": {
			cluster: installtest.Policies(installtest.ReadPods, installtest.ReadHealth), targets: []string{"shop"}, in: installtest.Granted("shop", installtest.Everything),
			want:    []string{"NotSatisfied cluster " + podsRule, `NotSatisfied cluster rule:{"verbs":["get"],"nonResourceURLs":["/healthz"]}`},
			message: unmet + "it may not get, list pods, nor get /healthz" + clusterWay,
		},
		"one of two": {
			permissions: installtest.Policies(installtest.ReadPods), cluster: installtest.Policies(installtest.ReadLeases), targets: []string{""}, everywhere: installtest.Policies(installtest.ReadPods),
			want: []string{
				"Satisfied namespaced " + podsRule,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":["coordination.k8s.io"],"resources":["leases"],"resourceNames":["lock"]}`,
			},
			message: unmet + "it may not get leases of coordination.k8s.io named lock" + clusterWay,
		},
		"more than anybody reads": {
			cluster: installtest.Policies(installtest.Policy("a", "get"), installtest.Policy("b", "get"), installtest.Policy("c", "get"), installtest.Policy("d", "get"), installtest.Policy("e", "get")), targets: []string{""}, everywhere: installtest.Policies(installtest.Everything)[:0],
			want: []string{
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["a"]}`, `NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["b"]}`,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["c"]}`, `NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["d"]}`,
				`NotSatisfied cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["e"]}`,
			},
			message: unmet + "it may not get a, nor get b, nor get c and 2 more (all are in status.requirementStatus)" + clusterWay,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{
				CSV: permitting("shop"), Targets: test.targets, Unlisted: map[string][]string{"shop": test.unlisted}, ServiceAccounts: map[string]*corev1.ServiceAccount{"shop": installtest.AccountOf("shop")},
				Access: permissions.Access{Everywhere: map[string][]rbacv1.PolicyRule{"shop": test.everywhere, "other": {installtest.Everything}}, In: map[string]map[string][]rbacv1.PolicyRule{}},
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
				installtest.Same(t, "group, version and kind", []string{"rbac.authorization.k8s.io", "v1", "PolicyRule"}, []string{d.Group, d.Version, d.Kind})
				got = append(got, string(d.Status)+" "+d.Message)
			}
			installtest.Same(t, "dependents", test.want, got)
			want := operatorsv1alpha1.RequirementStatusReasonPresent
			if test.message != "" {
				want = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
			}
			if account.Status != want || account.Message != test.message || account.UUID != "uid-of-shop" {
				t.Errorf("got %s: %q, want %s: %q", account.Status, account.Message, want, test.message)
			}
			installtest.Same(t, "passes", test.message == "", verdict.Passes())
		})
	}
}
