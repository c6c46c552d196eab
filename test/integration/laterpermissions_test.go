package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// gears is an operator whose account may manage the objects of its definition only after a later grant: until then,
// nothing proves that it provides the API.
type gears struct {
	*env
	crd     string
	csv     *operatorsv1alpha1.ClusterServiceVersion
	manages rbacv1.PolicyRule
}

func newGears(e *env) gears {
	e.Helper()
	crd := newCRD(e, "gears", "v1")
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	c := claiming(csv("operator.v1", "server"), "v1", crd.Name)
	c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName = "account"
	return gears{e, crd.Name, needs(c, "account"), policyRule(crd.Spec.Group, "gears", "get", "list", "watch", "update")}
}

func (g gears) role(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	g.Helper()
	return kube.CreateTemporary(g, g.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: g.namespace + "-gears"}, Rules: rules})
}

func (g gears) binding() {
	g.Helper()
	name := g.namespace + "-gears"
	kube.CreateTemporary(g, g.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: accountAsSubject(g.env),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
}

func (g gears) isUsable() {
	g.Helper()
	becomes(g.env, "the ClusterRoles of the API", func() []string { return rolesOfAPI(g.env, g.crd+"-v1-") }, rolesOfUsers)
}

var rolesOfUsers = []string{"admin", "crdview", "edit", "view"}

// A permission can come by a binding, by the rules of a bound ClusterRole, and by a ClusterRole that is created later.
func TestPermissionThatProvesAnAPILater(t *testing.T) {
	for name, grant := range map[string]struct{ before, after func(gears) }{
		"a binding": {
			func(gears) {},
			func(g gears) { g.role(g.manages); g.binding() },
		},
		"rules of a bound ClusterRole": {
			func(g gears) { g.role(readPods); g.binding() },
			func(g gears) {
				role := kube.Get(g, g.kube.RbacV1().ClusterRoles(), g.namespace+"-gears")
				role.Rules = append(role.Rules, g.manages)
				kube.Update(g, g.kube.RbacV1().ClusterRoles(), role)
			},
		},
		"a ClusterRole after its binding": {
			func(g gears) { g.binding() },
			func(g gears) { g.role(g.manages) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvInPlaceOfOLM(t)
			defineOperators(e)
			defineInstallPlans(e)
			g := newGears(e)
			m := manageInPlaceOfOLM(e)
			grant.before(g)
			subscribe(e, nil)
			e.install(g.csv)
			plan(e, g.csv.Name, nil)
			installs(e, g.csv.Name, "install-"+g.csv.Name)
			m.emits("Warning ClusterRoleNotWritten no ClusterRoles for users of CustomResourceDefinition " + g.crd)
			m.settles(g.csv.Name)
			grant.after(g)
			g.isUsable()
			e.eventually("the definition is a component of the Operator", func() (bool, any) {
				labels := kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), g.crd).Labels
				_, labelled := labels[e.component()]
				return labelled, labels
			})
		})
	}
}
