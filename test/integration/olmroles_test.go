package integration

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// installedByCatalog annotates a definition as OLM's catalog-operator does.
func installedByCatalog(e *env, crd *apiextensionsv1.CustomResourceDefinition, csv string) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "operatorframework.io/installed-alongside-1234", e.namespace+"/"+csv)
	})
	return crd
}

// newCRDOfKind is newCRD for a test with several kinds.
func newCRDOfKind(e *env, plural, kind string) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	crd := things(e, plural, "v1")
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"}
	created := kube.CreateTemporary(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd)
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), crd.Name))
	return created
}

func clusterRole(e *env, name string) *rbacv1.ClusterRole {
	e.Helper()
	role, err := e.kube.RbacV1().ClusterRoles().Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return role
}

// rolesOfAPI returns the names of the ClusterRoles that begin with a text, without it.
func rolesOfAPI(e *env, prefix string) (endings []string) {
	e.Helper()
	for _, role := range kube.List(e, e.kube.RbacV1().ClusterRoles(), metav1.ListOptions{}).Items {
		if ending, ok := strings.CutPrefix(role.Name, prefix); ok {
			endings = append(endings, ending)
		}
	}
	return endings
}

// groupRole returns the ClusterRole of a level of the OperatorGroup of the test.
func groupRole(e *env, level string) *rbacv1.ClusterRole {
	e.Helper()
	selector := labels.Set{"olm.owner": "og", "olm.owner.namespace": e.namespace, "olm.owner.kind": "OperatorGroup"}.String()
	for _, role := range kube.List(e, e.kube.RbacV1().ClusterRoles(), metav1.ListOptions{LabelSelector: selector}).Items {
		if strings.HasPrefix(role.Name, "olm.og.og."+level+"-") {
			return &role
		}
	}
	return nil
}

// aggregateRules plays the controller of Kubernetes that writes the rules of ClusterRoles with an aggregation rule. It
// returns after nothing changes any more, since such ClusterRoles include each other.
func aggregateRules(e *env) {
	e.Helper()
	for changed := true; changed; {
		changed = false
		all := kube.List(e, e.kube.RbacV1().ClusterRoles(), metav1.ListOptions{}).Items
		for _, role := range all {
			if rules := included(e, role, all); role.AggregationRule != nil && !slices.EqualFunc(rules, role.Rules, sameRule) {
				changed = true
				e.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
					live := kube.Get(e, e.kube.RbacV1().ClusterRoles(), role.Name)
					live.Rules = rules
					_, err := e.kube.RbacV1().ClusterRoles().Update(e.ctx, live, metav1.UpdateOptions{FieldManager: "clusterrole-aggregation-controller"})
					return err
				}))
			}
		}
	}
}

func sameRule(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }

func included(e *env, role rbacv1.ClusterRole, all []rbacv1.ClusterRole) (rules []rbacv1.PolicyRule) {
	e.Helper()
	if role.AggregationRule == nil {
		return nil
	}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		selects, err := metav1.LabelSelectorAsSelector(&selector)
		e.must(err)
		for _, other := range all {
			if other.Name != role.Name && selects.Matches(labels.Set(other.Labels)) {
				rules = append(rules, other.Rules...)
			}
		}
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(rules, sameRule)
}

// bindUser binds a new user to a ClusterRole in the test's namespace.
func bindUser(e *env, role string) (user string) {
	e.Helper()
	user = "user-of-" + role
	kube.Create(e, e.kube.RbacV1().RoleBindings(e.namespace), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(role)}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})
	return user
}

// allowed returns the verbs that the API server's authorizer lets a user use on a resource in the test's namespace.
func allowed(e *env, user, group, resource string) (verbs []string) {
	e.Helper()
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "escalate"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: e.namespace, Group: group, Resource: resource, Verb: verb},
		}}
		if kube.Create(e, e.kube.AuthorizationV1().SubjectAccessReviews(), review).Status.Allowed {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// The users of a namespace with the roles admin, edit and view of Kubernetes, and those of an OperatorGroup, may do with
// the objects of an operator what they may do with OLM v0.
func TestUsersOfProvidedAPIs(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	crd := installedByCatalog(e, newCRD(e, "gears", "v1"), "operator.v1")
	m := manageInPlaceOfOLM(e)
	e.install(claiming(csv("operator.v1", "server"), "v1", crd.Name))
	becomes(e, "the ClusterRoles of the API exist", func() []string { return rolesOfAPI(e, crd.Name+"-v1-") }, []string{"admin", "crdview", "edit", "view"})
	becomes(e, "the ClusterRole of the group includes the API", func() bool { role := groupRole(e, "edit"); return role != nil && role.AggregationRule != nil }, true)
	aggregateRules(e)

	read, write := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete"}
	everything := slices.Concat(read, write, []string{"deletecollection", "escalate"})
	// The roles of Kubernetes include each other, those of OperatorGroups do not, as with OLM v0.
	for role, want := range map[string][]string{
		"admin": everything, "edit": slices.Concat(read, write), "view": read,
		groupRole(e, "admin").Name: everything, groupRole(e, "edit").Name: write, groupRole(e, "view").Name: read,
	} {
		user := bindUser(e, role)
		becomes(e, "what a user with "+role+" may do with gears", func() []string { return allowed(e, user, crd.Spec.Group, "gears") }, want)
		none(t, "what a user with "+role+" may do with other kinds of the group", allowed(e, user, crd.Spec.Group, "wheels"))
	}
	viewer := "user-of-" + groupRole(e, "view").Name
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: viewer, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: crd.Name, Verb: "get",
	}}}
	same(t, "a binding in a namespace grants a cluster-scoped definition", kube.Create(e, e.kube.AuthorizationV1().SubjectAccessReviews(), review).Status.Allowed, false)

	since := auditEnd(e)
	m.looksAgain("operator.v1")
	m.writesNothing(since)
	noneIsForbidden(e, m.audited(m.started))
}

// Users keep their access to remaining objects when the operator is uninstalled: the garbage collector deletes the
// ClusterRoles of an API with its definition. The manager deletes those of a group that was deleted while no manager ran.
func TestRolesAreDeletedWithTheirGroup(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	crd := installedByCatalog(e, newCRD(e, "gears", "v1"), "operator.v1")
	m := manageInPlaceOfOLM(e)
	e.install(claiming(csv("operator.v1", "server"), "v1", crd.Name))
	prefix := crd.Name + "-v1-"
	becomes(e, "the ClusterRoles of the API exist", func() int { return len(rolesOfAPI(e, prefix)) }, 4)
	owner := metav1.OwnerReference{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: crd.Name, UID: crd.UID, Controller: new(false), BlockOwnerDeletion: new(false)}
	same(t, "the owners of a ClusterRole of the API", clusterRole(e, prefix+"edit").OwnerReferences, []metav1.OwnerReference{owner})
	e.uninstall("operator.v1")
	becomes(e, "the ClusterRole of the group includes no API", func() bool { role := groupRole(e, "admin"); return role != nil && role.AggregationRule == nil }, true)
	same(t, "the number of ClusterRoles after the uninstallation", len(rolesOfAPI(e, prefix)), 4)

	m.stop()
	imitation := groupRole(e, "edit")
	imitation.ObjectMeta = metav1.ObjectMeta{Name: "olm.og.og.edit-" + e.namespace, Labels: imitation.Labels}
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), imitation)
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	manageWith(e, cluster.Config(), inPlaceOfOLM, func(o *controller.Options) { o.WithOLM = true })
	for _, level := range []string{"admin", "view"} {
		becomes(e, "the ClusterRole "+level+" of the group exists", func() bool { return groupRole(e, level) != nil }, false)
	}
	becomes(e, "the remaining ClusterRole with the labels of the group", func() string { return groupRole(e, "edit").Name }, imitation.Name)
}

// What OLM v0 left is adopted without a change of permissions. Edits are repaired, and a deleted ClusterRole is recreated.
// A client that does not stop is not fought without limit.
func TestRolesOfOLMAreAdopted(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	crd := installedByCatalog(e, newCRD(e, "gears", "v1"), "operator.v1")
	name := crd.Name + "-v1-edit"
	client := e.kube.RbacV1().ClusterRoles()
	left := kube.Create(e, client, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"olm.managed": "true", "rbac.authorization.k8s.io/aggregate-to-edit": "true", "example.com/team": "blue",
		}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apiextensions.k8s.io/v1", Kind: "customresourcedefinition", Name: crd.Name, UID: crd.UID}}},
		Rules: []rbacv1.PolicyRule{policyRule(crd.Spec.Group, "gears", "create", "update", "patch", "delete")},
	})
	m := manageInPlaceOfOLM(e)
	e.install(claiming(csv("operator.v1", "server"), "v1", crd.Name))
	becomes(e, "the number of labels", func() int { return len(clusterRole(e, name).Labels) }, 4)
	adopted := clusterRole(e, name)
	same(t, "uid", adopted.UID, left.UID)
	same(t, "rules", adopted.Rules, left.Rules)
	same(t, "owners", adopted.OwnerReferences, left.OwnerReferences)
	same(t, "the label of another client", adopted.Labels["example.com/team"], "blue")

	kube.Patch(e, client, name, types.MergePatchType, []byte(`{"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], "metadata": {"labels": null, "ownerReferences": null}}`))
	e.eventually("the ClusterRole is not changed: another owner has it", func() (bool, any) {
		events := m.reported()
		return slices.ContainsFunc(events, func(event string) bool {
			return strings.Contains(event, "ClusterRole "+name+" belongs to another owner")
		}), events
	})
	e.must(client.Delete(e.ctx, name, metav1.DeleteOptions{}))
	repaired := func() []rbacv1.PolicyRule {
		if role := clusterRole(e, name); role != nil {
			return role.Rules
		}
		return nil
	}
	becomes(e, "the ClusterRole is recreated", repaired, left.Rules)
	edits := 0
	for paused := false; !paused; edits++ {
		kube.Patch(e, client, name, types.MergePatchType, []byte(`{"rules": []}`))
		e.eventually("the edit is repaired, or the manager pauses", func() (bool, any) {
			events := m.reported()
			paused = slices.ContainsFunc(events, func(event string) bool {
				return strings.Contains(event, "ClusterRoleNotWritten ClusterRole "+name) && strings.Contains(event, "the manager repairs it again at")
			})
			return paused || len(repaired()) > 0, events
		})
	}
	same(t, "the number of edits until the manager pauses", edits, 5)
	none(t, "the rules during the pause", repaired())
}

// A ClusterServiceVersion that claims definitions of other owners gives no user a permission on them.
func TestClaimsOfOtherDefinitions(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	other, adopted, own := newCRDOfKind(e, "gears", "Gear"), newCRDOfKind(e, "wheels", "Wheel"), newCRDOfKind(e, "axles", "Axle")
	installedByCatalog(e, own, "operator.v1")
	client := e.kube.RbacV1().ClusterRoles()
	// Empty, so that a client without permissions on wheels can create it.
	bait := kube.Create(e, client, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: adopted.Name + "-v1-admin", Labels: map[string]string{"olm.managed": "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: adopted.Name, UID: adopted.UID}},
	}})
	foreign := kube.CreateTemporary(e, client, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: own.Name + "-v1-view"}, Rules: []rbacv1.PolicyRule{readPods}})
	m := manageInPlaceOfOLM(e)
	c := claiming(csv("operator.v1", "server"), "v1", other.Name, adopted.Name, own.Name)
	e.install(claiming(c, "v1alpha1", "clusterserviceversions.operators.coreos.com"))
	becomes(e, "the ClusterRoles of its own API", func() []string { return rolesOfAPI(e, own.Name+"-v1-") }, []string{"admin", "crdview", "edit", "view"})
	m.emits("Warning ClusterRoleNotWritten no ClusterRoles for users of CustomResourceDefinition " + other.Name + ": no catalog and no bundle install created it")
	m.emits("Warning ClusterRoleNotWritten ClusterRole " + foreign.Name + " belongs to another owner")
	m.looksAgain("operator.v1")
	none(t, "ClusterRoles of another definition", rolesOfAPI(e, other.Name))
	none(t, "ClusterRoles of OLM's own kinds", rolesOfAPI(e, "clusterserviceversions.operators.coreos.com"))
	same(t, "the empty ClusterRole", clusterRole(e, bait.Name), bait)
	same(t, "the ClusterRole of another owner", clusterRole(e, foreign.Name), foreign)
	e.must(client.Delete(e.ctx, bait.Name, metav1.DeleteOptions{}))
}

// A ServiceAccount that an administrator lets manage the objects everywhere is a proof, too: not all operators are from
// catalogs. A Role in the operator's own namespace is none.
func TestOperatorWithoutACatalog(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	crd := newCRD(e, "gears", "v1")
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	m := manageInPlaceOfOLM(e)
	manages := policyRule(crd.Spec.Group, "gears", "get", "list", "watch", "update")
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: e.namespace + "-gears"}
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Rules: []rbacv1.PolicyRule{manages}})
	kube.Create(e, e.kube.RbacV1().RoleBindings(e.namespace), &rbacv1.RoleBinding{ObjectMeta: named("gears"), Subjects: accountAsSubject(e), RoleRef: role})
	c := claiming(csv("operator.v1", "server"), "v1", crd.Name)
	c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName = "account"
	e.install(needs(c, "account"))
	m.emits("Warning ClusterRoleNotWritten no ClusterRoles for users of CustomResourceDefinition " + crd.Name)
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: accountAsSubject(e), RoleRef: role})
	becomes(e, "the ClusterRoles of the API", func() []string { return rolesOfAPI(e, crd.Name+"-v1-") }, []string{"admin", "crdview", "edit", "view"})
}

// The resource of an owned APIService has ClusterRoles, too. They name no group, as with OLM v0.
func TestUsersOfAnAPIService(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	a := playAPI(e)
	manageInPlaceOfOLM(e)
	c := a.csv("operator.v1")
	resource := e.namespace
	c.Spec.APIServiceDefinitions.Owned[0].Name = resource
	e.create(c)
	a.start()
	e.succeeds("operator.v1")
	becomes(e, "the ClusterRoles of the APIService", func() []string { return rolesOfAPI(e, resource+"-v1-") }, []string{"admin", "edit", "view"})
	same(t, "rules", clusterRole(e, resource+"-v1-view").Rules, []rbacv1.PolicyRule{policyRule(a.group, resource, "get", "list", "watch")})
	same(t, "the owner", clusterRole(e, resource+"-v1-view").OwnerReferences[0].UID, a.registered().UID)
}

// An administrator lists the APIs of a group with static APIs.
func TestRolesOfAStaticGroup(t *testing.T) {
	e := newEnv(t)
	e.group("og", operatorsv1.OperatorGroupSpec{StaticProvidedAPIs: true})
	manageInPlaceOfOLM(e)
	becomes(e, "the ClusterRole of the group exists", func() bool { return groupRole(e, "view") != nil }, true)
	if rule := groupRole(e, "view").AggregationRule; rule != nil {
		t.Errorf("a group without APIs includes %v", rule)
	}
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) {
		metav1.SetMetaDataAnnotation(&g.ObjectMeta, "olm.providedAPIs", "KnativeEventing.v1alpha1.operator.knative.dev")
	})
	want := &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"olm.opgroup.permissions/aggregate-to-4fa8c5d8e33af72a-view": "true"}}},
	}
	included := func() *rbacv1.AggregationRule { return groupRole(e, "view").AggregationRule }
	becomes(e, "the included label", included, want)
	everything := []byte(`{"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}]}}`)
	kube.Patch(e, e.kube.RbacV1().ClusterRoles(), groupRole(e, "view").Name, types.MergePatchType, everything)
	becomes(e, "the included label after an edit", included, want)
}
