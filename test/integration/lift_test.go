package integration

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	bundlepkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// grantedTo gives a user of the test's own what manifests grant the manager, and returns how to be that user.
func grantedTo(e *env, files ...string) *rest.Config {
	e.Helper()
	user := "manager-of-" + e.namespace
	for _, file := range files {
		role := manifestRole(e, file)
		role.Name += "-" + e.namespace
		kube.Create(e, e.kube.RbacV1().ClusterRoles(), role)
		kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})
		mayDo(e, user, role.Rules[len(role.Rules)-1])
	}
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return config
}

func manifestRole(e *env, file string) *rbacv1.ClusterRole {
	e.Helper()
	text, err := os.ReadFile("../../manifests/" + file)
	e.must(err)
	role := &rbacv1.ClusterRole{}
	e.must(yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(role))
	return role
}

// mayDo waits until the API server's authorizer knows of a rule that a user is given: it learns
// of roles and bindings a moment after they are written.
func mayDo(e *env, user string, rule rbacv1.PolicyRule) {
	e.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: rule.Verbs[0]},
	}}
	e.eventually(user+" may do what it is granted", func() (bool, any) {
		answer := kube.Create(e, e.kube.AuthorizationV1().SubjectAccessReviews(), review)
		return answer.Status.Allowed, answer.Status
	})
}

// lifted are the roles and bindings outside of the operator's namespace.
func lifted(e *env) []string {
	e.Helper()
	var all []string
	for _, resource := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		for _, o := range e.owned([]schema.GroupVersionResource{{Group: rbacv1.GroupName, Version: "v1", Resource: resource}}) {
			if o.GetNamespace() != e.namespace {
				all = append(all, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	return all
}

// What the installer granted in the operator's namespace is granted wherever its group
// targets, for as long as it does and the operator exists.
func TestLiftRoles(t *testing.T) {
	e := newOperatorEnv(t)
	other := newNamespace(e, "", nil)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	m := manageThrough(e, grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml"), func(o *controller.Options) { o.LiftRoles = true })
	e.create(asking(csv("operator.v1", "server"), readPods))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	m.looksAgain("operator.v1")
	expect(t, lifted(e))

	name := e.namespace + "-reader" // there is one of the cluster for all tests
	bindRoleIn(e, e.namespace, name)
	e.succeeds("operator.v1")
	expect(t, lifted(e), "ClusterRole /"+name, "ClusterRoleBinding /"+name)
	m.settles("operator.v1")
	e.must(e.kube.RbacV1().ClusterRoleBindings().Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.eventually("the binding is back", func() (bool, any) { return len(lifted(e)) == 2, lifted(e) })
	e.succeeds("operator.v1")

	kube.Patch(e, e.kube.RbacV1().ClusterRoles(), name, types.MergePatchType, []byte(`{"rules": []}`))
	e.eventually("the rules are back", func() (bool, any) {
		role := kube.Get(e, e.kube.RbacV1().ClusterRoles(), name)
		return len(role.Rules) > 0, role
	})

	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = namespaces(e.namespace, other) })
	e.eventually("the permissions are lifted to the target alone", func() (bool, any) {
		all := lifted(e)
		return len(all) == 2 && all[0] == "Role "+other+"/"+name && all[1] == "RoleBinding "+other+"/"+name, all
	})
	e.succeeds("operator.v1")
	e.uninstall("operator.v1")
	expect(t, lifted(e))
	requests := m.audited(m.started)
	noneIsForbidden(e, requests)
	expect(t, unusedIn(e, "lift-roles/clusterrole.yaml", requests),
		"get clusterroles", "get clusterrolebindings", // whose an object is whose name was taken already
		"update clusterroles", "update clusterrolebindings", "patch clusterrolebindings", // repairs as well
	)
}

// unusedIn are the permissions in the first rule of a manifest that no request used.
func unusedIn(e *env, file string, requests []auditv1.Event) []string {
	e.Helper()
	return unusedOf(manifestRole(e, file).Rules[0], requests)
}

func unusedOf(rule rbacv1.PolicyRule, requests []auditv1.Event) (unused []string) {
	for _, verb := range rule.Verbs {
		for _, resource := range rule.Resources {
			if !slices.ContainsFunc(requests, func(r auditv1.Event) bool {
				return r.ObjectRef != nil && r.Verb == verb && strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/") == resource
			}) {
				unused = append(unused, verb+" "+resource)
			}
		}
	}
	return unused
}

// A ClusterRole that happens to be called like the Role is not modified.
func TestLiftRolesNextToARoleOfThatName(t *testing.T) {
	e := newOperatorEnv(t)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	name := e.namespace + "-reader"
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	kube.Create(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: everything})
	bindRoleIn(e, e.namespace, name)
	e.manage(func(o *controller.Options) { o.LiftRoles = true })
	e.install(asking(csv("operator.v1", "server"), readPods))
	for _, binding := range e.owned([]schema.GroupVersionResource{{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterrolebindings"}}) {
		if nested(binding.Object, "roleRef", "name") == name {
			t.Errorf("%s gives the account everything", binding.GetName())
		}
	}
	e.uninstall("operator.v1")
	expect(t, lifted(e))
	kube.Get(e, e.kube.RbacV1().ClusterRoles(), name)
}

// A Role of a target namespace that happens to be called like the operator's Role is never bound to
// the operator's account, whether it existed before or replaced the lifted one.
func TestLiftRolesNextToARoleOfThatNameInATarget(t *testing.T) {
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	for name, replaced := range map[string]bool{"that existed before": false, "that replaced the lifted one": true} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			target := newNamespace(e, "", nil)
			roles := e.kube.RbacV1().Roles(target)
			e.group("og", namespaces(e.namespace, target))
			serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
			e.runDeployments()
			bindRoleIn(e, e.namespace, "reader")
			if !replaced {
				kube.Create(e, roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: everything})
			}
			e.manage(func(o *controller.Options) { o.LiftRoles = true })
			e.install(asking(csv("operator.v1", "server"), readPods))
			if replaced {
				expect(t, lifted(e), "Role "+target+"/reader", "RoleBinding "+target+"/reader")
				live := kube.Get(e, roles, "reader")
				live.Labels, live.Rules = nil, everything
				kube.Update(e, roles, live)
			}
			e.eventually("the lifted permissions have names of their own", func() (bool, any) {
				all := lifted(e)
				return len(all) == 2 && !slices.Contains(all, "Role "+target+"/reader") && !slices.Contains(all, "RoleBinding "+target+"/reader"), all
			})
			e.succeeds("operator.v1")
			for _, b := range kube.List(e, e.kube.RbacV1().RoleBindings(target), metav1.ListOptions{}).Items {
				same(e, "the rules of the Role that "+b.Name+" binds", kube.Get(e, roles, b.RoleRef.Name).Rules, []rbacv1.PolicyRule{readPods})
			}
			e.uninstall("operator.v1")
			expect(t, lifted(e))
			same(e, "the rules of the other Role", kube.Get(e, roles, "reader").Rules, everything)
		})
	}
}

// A Role and its binding in the operator's namespace satisfy the permissions that an operator of all
// namespaces asks for: the manager lifts them before it judges.
func TestLiftedPermissionsSatisfy(t *testing.T) {
	e := newOperatorEnv(t)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	bindRoleIn(e, e.namespace, e.namespace+"-reader")
	manageThrough(e, grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml"), func(o *controller.Options) { o.LiftRoles = true })
	e.install(asking(csv("operator.v1", "server"), readPods))
	dependsOn(e, `namespaced rule:{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}`, operatorsv1alpha1.DependentStatusReasonSatisfied)
	for _, c := range e.get("operator.v1").Status.Conditions {
		if c.Reason == operatorsv1alpha1.CSVReasonRequirementsNotMet {
			t.Errorf("it waited: %s", c.Message)
		}
	}
}

// A newer version adopts what was lifted; when it is deleted before it has replaced the
// older one, that one has it back, and its pods have been granted it all the while.
func TestLiftedPermissionsOutliveANewerVersion(t *testing.T) {
	e := newGroupEnv(t)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	bindRoleIn(e, e.namespace, e.namespace+"-reader")
	e.runDeployments("slow")
	manageThrough(e, grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml"), func(o *controller.Options) { o.LiftRoles = true })
	e.install(asking(csv("operator.v1", "server"), readPods))
	first := liftedBy(e, "operator.v1")
	if len(first) != 2 {
		t.Fatalf("lifted: %v", lifted(e))
	}

	e.create(replacing("operator.v1", asking(csv("operator.v2", "slow"), readPods)))
	e.eventually("the newer version has become active", func() (bool, any) { taken := liftedBy(e, "operator.v2"); return len(taken) == 2, taken })
	e.uninstall("operator.v2")
	e.succeeds("operator.v1")
	same(t, "what is lifted", liftedBy(e, "operator.v1"), first)
	e.uninstall("operator.v1")
	expect(t, lifted(e))
}

func liftedBy(e *env, csv string) map[string]types.UID {
	e.Helper()
	found := map[string]types.UID{}
	for _, resource := range []string{"clusterroles", "clusterrolebindings"} {
		for _, o := range e.owned([]schema.GroupVersionResource{{Group: rbacv1.GroupName, Version: "v1", Resource: resource}}) {
			if o.GetLabels()["olm.owner"] == csv {
				found[o.GetKind()] = o.GetUID()
			}
		}
	}
	return found
}

// Without the permissions of the overlay the operator waits, and the manager reports why.
func TestLiftRolesWithoutPermission(t *testing.T) {
	e := newGroupEnv(t)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	bindRoleIn(e, e.namespace, e.namespace+"-reader")
	m := manageThrough(e, grantedTo(e, "manager/clusterrole.yaml"), func(o *controller.Options) { o.LiftRoles = true })
	e.create(asking(csv("operator.v1", "server"), readPods))
	m.emits("Warning PermissionsNotLifted")
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
}

// What an installation grants in the namespaces that an operator watches is deleted with its version,
// when that is replaced and when it is uninstalled. Nothing else of these namespaces does.
func TestGrantsAreDeletedWithTheirVersion(t *testing.T) {
	e := newParallelEnv(t)
	other := newNamespace(e, "", nil)
	crd := newCRD(e, "locks", "v1")
	crd.APIVersion, crd.Kind, crd.ResourceVersion, crd.UID = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", ""
	e.runDeployments()
	manageThrough(e, grantedTo(e, "manager/clusterrole.yaml"))
	defer bindRoleIn(e, other, "bystander")()
	version := func(name, replaces string) *bundlepkg.Bundle {
		c := asking(csv(name, "server"), readPods)
		c.Spec.Replaces = replaces
		return e.bundleOf(crd, c)
	}
	granted := func(want ...string) {
		t.Helper()
		becomes(e, "there are only the grants of "+strings.Join(want, ", "), func() []string { return granted(e, "operator.v1", "operator.v2") }, want)
	}
	all := func(version string) []string {
		lines := []string{"Role " + e.namespace + " " + version, "Role " + other + " " + version, "RoleBinding " + e.namespace + " " + version, "RoleBinding " + other + " " + version}
		slices.Sort(lines)
		return lines
	}
	installing(e, version("operator.v1", ""), patience, e.namespace, other).ends()
	granted(all("operator.v1")...)
	installing(e, version("operator.v2", "operator.v1"), patience, e.namespace, other).ends()
	noLongerExist(e, "operator.v1")
	granted(all("operator.v2")...)
	e.uninstall("operator.v2")
	granted()
	kube.Get(e, e.kube.RbacV1().Roles(other), "bystander")
}

// granted are the Roles, and the RoleBindings, by which an installation lets the account of some
// versions do what they ask for: where each is, and whose.
func granted(e *env, versions ...string) []string {
	e.Helper()
	roles := kube.List(e, e.kube.RbacV1().Roles(metav1.NamespaceAll), metav1.ListOptions{})
	bindings := kube.List(e, e.kube.RbacV1().RoleBindings(metav1.NamespaceAll), metav1.ListOptions{})
	var found []string
	note := func(kind string, o metav1.ObjectMeta) {
		for _, version := range versions {
			if o.Name == names.Permissions(e.namespace, version, "account") {
				found = append(found, kind+" "+o.Namespace+" "+version)
			}
		}
	}
	for _, o := range roles.Items {
		note("Role", o.ObjectMeta)
	}
	for _, o := range bindings.Items {
		note("RoleBinding", o.ObjectMeta)
	}
	slices.Sort(found)
	return found
}
