package permissions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Only what the CSV asks for and its installer has granted is granted where its group selects it.
func TestLift(t *testing.T) {
	const see = "; get,list,watch namespaces"
	all := []string{""}
	bound := func(binding, role string, accounts ...string) *rbacv1.RoleBinding {
		b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: binding}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role}}
		for _, account := range accounts {
			namespace, name, elsewhere := strings.Cut(account, "/")
			if !elsewhere {
				namespace, name = "shop", account
			}
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
		}
		return b
	}
	reader := bound("reader", "reader", "manager")
	for name, test := range map[string]struct {
		role       []rbacv1.PolicyRule // that is called reader
		bindings   []*rbacv1.RoleBinding
		targets    []string
		everywhere []rbacv1.PolicyRule
		in         map[string][]rbacv1.PolicyRule
		unowned    string
		want       []string
	}{
		"for all namespaces": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: all,
			want: []string{"ClusterRole reader: get,list pods" + see, "ClusterRoleBinding reader: manager may reader"},
		},
		"for others": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: []string{"blue", "red", "shop"},
			want: []string{"Role blue/reader: get,list pods", "Role red/reader: get,list pods", "RoleBinding blue/reader: manager may reader", "RoleBinding red/reader: manager may reader"},
		},
		"where it is not granted": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: []string{"blue", "red"}, in: installtest.Granted("red", installtest.ReadPods),
			want: []string{"Role blue/reader: get,list pods", "RoleBinding blue/reader: manager may reader"},
		},
		"for its own namespace":    {role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: []string{"shop"}},
		"granted everywhere":       {role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: all, everywhere: installtest.Policies(installtest.Everything)},
		"not granted at home":      {role: installtest.Policies(installtest.ReadPods), targets: all},
		"a Role that is not there": {bindings: []*rbacv1.RoleBinding{bound("reader", "other", "manager")}, targets: all},
		"not all that is asked for": {
			role: installtest.Policies(installtest.Policy("pods", "get")), bindings: []*rbacv1.RoleBinding{reader}, targets: all,
		},
		"more than is asked for": {role: installtest.Policies(installtest.ReadPods, installtest.ReadLeases), bindings: []*rbacv1.RoleBinding{reader}, targets: all},
		"everything":             {role: installtest.Policies(installtest.Everything), bindings: []*rbacv1.RoleBinding{reader}, targets: all},
		"to an account that does not ask, and one elsewhere": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{bound("reader", "reader", "other", "red/manager")}, targets: all,
		},
		"to several": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{bound("reader", "reader", "other", "manager", "red/manager")}, targets: all,
			want: []string{"ClusterRole reader: get,list pods" + see, "ClusterRoleBinding reader: manager may reader"},
		},
		"by two bindings": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader, bound("more", "reader", "manager")}, targets: all,
			want: []string{"ClusterRole reader: get,list pods" + see, "ClusterRoleBinding reader: manager may reader", "ClusterRoleBinding more: manager may reader"},
		},
		"under another client's name": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: all, unowned: "reader",
			want: []string{"ClusterRole ALTERNATE: get,list pods" + see, "ClusterRoleBinding ALTERNATE: manager may ALTERNATE"},
		},
		"under another client's name in one of the targets": {
			role: installtest.Policies(installtest.ReadPods), bindings: []*rbacv1.RoleBinding{reader}, targets: []string{"blue", "red"}, unowned: "blue/reader",
			want: []string{
				"Role blue/ALTERNATE: get,list pods", "Role red/reader: get,list pods",
				"RoleBinding blue/ALTERNATE: manager may ALTERNATE", "RoleBinding red/reader: manager may reader",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "manager", Rules: installtest.Policies(installtest.ReadPods)}}
			g := Grants{
				CSV: csv, Targets: test.targets, Bindings: test.bindings, Roles: map[string]*rbacv1.Role{}, Foreign: map[string]bool{test.unowned: true},
				Access: Access{Everywhere: map[string][]rbacv1.PolicyRule{"manager": test.everywhere}, In: map[string]map[string][]rbacv1.PolicyRule{}},
			}
			for namespace, rules := range test.in {
				g.Access.In[namespace] = map[string][]rbacv1.PolicyRule{"manager": rules}
			}
			if test.role != nil {
				g.Roles["reader"] = &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "reader"}, Rules: test.role}
			}
			installtest.Same(t, "lifted", test.want, linesOf(t, Lift(g)))
		})
	}
}

func linesOf(t *testing.T, lifted []metav1.Object) []string {
	t.Helper()
	var lines []string
	for _, o := range lifted {
		if !IsLifted(o) || !csvspec.HasOwnerLabels(o, installtest.Operator(nil)) || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s: labels %v, owners %v", o.GetName(), o.GetLabels(), o.GetOwnerReferences())
		}
		what := lists.Map(RulesOf(o), func(r rbacv1.PolicyRule) string {
			return strings.Join(r.Verbs, ",") + " " + strings.Join(r.Resources, ",")
		})
		role, subjects := Bound(o)
		for _, s := range subjects {
			what = append(what, s.Name+" may "+role.Name)
		}
		kind, name := o.(runtime.Object).GetObjectKind().GroupVersionKind().Kind, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
		lines = append(lines, strings.ReplaceAll(fmt.Sprintf("%s %s: %s", kind, name, strings.Join(what, "; ")), names.Lifted("shop", "reader"), "ALTERNATE"))
	}
	return lines
}

// What lifted bindings grant counts where the role that they refer to is lifted as well.
func TestAccessWithLifted(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	ref := func(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }
	subjects := []rbacv1.Subject{
		{Kind: rbacv1.ServiceAccountKind, Namespace: "shop", Name: "manager"},
		{Kind: rbacv1.ServiceAccountKind, Namespace: "elsewhere", Name: "other"},
		{Kind: rbacv1.UserKind, Name: "user"},
	}
	before := Access{
		Everywhere: map[string][]rbacv1.PolicyRule{"manager": installtest.Policies(installtest.ReadLeases)},
		In:         map[string]map[string][]rbacv1.PolicyRule{"blue": {"manager": installtest.Policies(installtest.ReadLeases)}},
	}
	lifted := []metav1.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta("", "reader"), Rules: installtest.Policies(installtest.ReadPods)},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "reader"), Subjects: subjects, RoleRef: ref("ClusterRole", "reader")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "foreign"), Subjects: subjects, RoleRef: ref("ClusterRole", "cluster-admin")},
		&rbacv1.Role{ObjectMeta: meta("blue", "reader"), Rules: installtest.Policies(installtest.ReadPods)},
		&rbacv1.RoleBinding{ObjectMeta: meta("blue", "reader"), Subjects: subjects, RoleRef: ref("Role", "reader")},
		&rbacv1.RoleBinding{ObjectMeta: meta("red", "reader"), Subjects: subjects, RoleRef: ref("Role", "reader")},
	}
	want := Access{
		Everywhere: map[string][]rbacv1.PolicyRule{"manager": installtest.Policies(installtest.ReadLeases, installtest.ReadPods)},
		In: map[string]map[string][]rbacv1.PolicyRule{
			"blue": {"manager": installtest.Policies(installtest.ReadLeases, installtest.ReadPods)},
			"red":  {"manager": nil},
		},
	}
	installtest.Same(t, "access", want, before.With("shop", lifted), cmpopts.EquateEmpty())
	if len(before.Everywhere["manager"]) != 1 || len(before.In["blue"]["manager"]) != 1 || len(before.In) != 1 {
		t.Error("the access that it was created from has changed")
	}
}

// A binding is for the rules that are lifted, not for the role of that name.
func TestBindsRulesOf(t *testing.T) {
	role := func(rules ...rbacv1.PolicyRule) metav1.Object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "reader"}, Rules: rules}
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "binding"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "reader"}}
	desired := []metav1.Object{role(installtest.ReadPods), binding}
	for name, test := range map[string]struct {
		live []metav1.Object
		want bool
	}{
		"the role is as desired":    {[]metav1.Object{role(installtest.ReadPods)}, true},
		"the role has other rules":  {[]metav1.Object{role(installtest.Everything)}, false},
		"the role has more rules":   {[]metav1.Object{role(installtest.ReadPods, installtest.ReadLeases)}, false},
		"the role is not lifted":    {nil, false},
		"only a ClusterRole has it": {[]metav1.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: installtest.Policies(installtest.ReadPods)}}, false},
	} {
		installtest.Same(t, name, test.want, BindsRulesOf(binding, desired, test.live))
	}
}

// A Role that grants the same in the same place is one that the manager has created.
func TestIsLiftedAs(t *testing.T) {
	role := func(namespace string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Rules: rules}
	}
	for live, want := range map[*rbacv1.Role]bool{
		role("shop", installtest.ReadPods): true, role("mall", installtest.ReadPods): false, role("shop", installtest.Everything): false,
	} {
		installtest.Same(t, fmt.Sprintf("%s with %v", live.Namespace, live.Rules), want, IsLiftedAs(role("shop", installtest.ReadPods), live))
	}
}
