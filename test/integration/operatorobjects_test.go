package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/util/retry"

	"github.com/operator-framework/api/crds"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// defineOperators has the API server serve Operators during the test. OLM brings their definition.
func defineOperators(e *env) {
	e.Helper()
	e.temporaryDefinition(crds.Operator())
}

func (e *env) component() string { return "operators.coreos.com/operator." + e.namespace }

func (e *env) operator() *operatorsv1.Operator {
	e.Helper()
	operator, err := e.olm.Operators().Get(e.ctx, "operator."+e.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return operator
}

// references returns "kind name: conditions" of each component of the Operator of the test.
func references(e *env) []string {
	e.Helper()
	operator := e.operator()
	if operator == nil || operator.Status.Components == nil {
		return nil
	}
	return lists.Map(operator.Status.Components.Refs, func(r operatorsv1.RichReference) string {
		conditions := lists.Map(r.Conditions, func(c operatorsv1.Condition) string { return fmt.Sprintf("%s=%s", c.Type, c.Status) })
		slices.Sort(conditions)
		return strings.TrimSuffix(strings.TrimSpace(r.Kind+" "+strings.ReplaceAll(r.Name, e.namespace, "NS")+" "+strings.Join(conditions, " ")), " ")
	})
}

// installs plays a catalog: the Subscription reports what it installed, and with which InstallPlan.
func installs(e *env, csv, plan string) {
	e.Helper()
	client := e.olm.Subscriptions(e.namespace)
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := client.Get(e.ctx, "operator", metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.Status.InstalledCSV, s.Status.LastUpdated = csv, metav1.Now()
		s.Status.InstallPlanRef = &corev1.ObjectReference{Namespace: e.namespace, Name: plan}
		_, err = client.UpdateStatus(e.ctx, s, metav1.UpdateOptions{})
		return err
	}))
}

// grantsOf creates an account as a catalog does, and two ClusterRoles with the labels of a ClusterServiceVersion. Its
// InstallPlan has created only the first.
func grantsOf(e *env, c *operatorsv1alpha1.ClusterServiceVersion) (planned, alleged string) {
	e.Helper()
	meta := csvspec.OwnedMeta(c, "account")
	kube.Create(e, e.kube.CoreV1().ServiceAccounts(e.namespace), &corev1.ServiceAccount{ObjectMeta: meta})
	planned, alleged = e.namespace+"-planned", e.namespace+"-alleged"
	for _, name := range []string{planned, alleged} {
		kube.Create(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: csvspec.OwnerLabels(c)}, Rules: []rbacv1.PolicyRule{readPods}})
	}
	plan(e, c.Name, map[string]operatorsv1alpha1.StepStatus{"ClusterRole " + planned: operatorsv1alpha1.StepStatusCreated})
	return planned, alleged
}

// An operator from a catalog has an Operator with a reference to each component, as with OLM v0, during its whole life.
func TestOperatorObject(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineOperators(e)
	defineInstallPlans(e)
	crd := installedByCatalog(e, newCRDOfKind(e, "gears", "Gear"), "operator.v1")
	other := newCRDOfKind(e, "wheels", "Wheel")
	m := manageInPlaceOfOLM(e)
	subscribe(e, nil)
	e.install(claiming(csv("operator.v1", "server"), "v1", crd.Name, other.Name))
	_, alleged := grantsOf(e, e.get("operator.v1"))
	installs(e, "operator.v1", "install-operator.v1")

	definition := "CustomResourceDefinition gears.NS.example.com Established=True NamesAccepted=True"
	version := func(name string) []string {
		return []string{
			"ClusterRole NS-planned", "ClusterServiceVersion " + name + " Succeeded=True", definition, "Deployment server Available=True", "InstallPlan install-" + name,
			"OperatorCondition " + name, "Role " + name, "Role server-service-cert", "RoleBinding " + name, "RoleBinding server-service-cert",
			"Secret server-service-cert", "Service server-service", "ServiceAccount account", "Subscription operator",
		}
	}
	becomes(e, "the references", func() []string { return references(e) }, version("operator.v1"))
	same(t, "the selector", e.operator().Status.Components.LabelSelector, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: e.component(), Operator: metav1.LabelSelectorOpExists}},
	})
	_, labelled := clusterRole(e, alleged).Labels[e.component()]
	same(t, "a ClusterRole that only has the labels is a component", labelled, false)
	_, labelled = kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), other.Name).Labels[e.component()]
	same(t, "the definition of another owner is a component", labelled, false)
	m.settles("operator.v1")

	e.must(e.olm.Operators().Delete(e.ctx, "operator."+e.namespace, metav1.DeleteOptions{}))
	becomes(e, "the references of the recreated Operator", func() []string { return references(e) }, version("operator.v1"))

	installedByCatalog(e, crd, "operator.v2")
	plan(e, "operator.v2", nil)
	e.install(replacing("operator.v1", claiming(csv("operator.v2", "server"), "v1", crd.Name)))
	installs(e, "operator.v2", "install-operator.v2")
	noLongerExist(e, "operator.v1")
	collect(e)
	// The garbage collector does not delete cluster-scoped objects, and this test plays it for the others.
	e.eventually("the references after the upgrade", func() (bool, any) {
		now := references(e)
		return slices.Contains(now, "ClusterServiceVersion operator.v2 Succeeded=True") && slices.Contains(now, "InstallPlan install-operator.v2") &&
			!slices.Contains(now, "InstallPlan install-operator.v1") && slices.Contains(now, definition) && slices.Contains(now, "Deployment server Available=True"), now
	})

	e.uninstall("operator.v2")
	collect(e)
	e.must(e.olm.Subscriptions(e.namespace).Delete(e.ctx, "operator", metav1.DeleteOptions{}))
	becomes(e, "the references after the uninstallation", func() []string { return references(e) }, []string{definition, "InstallPlan install-operator.v2"})
	e.must(e.kube.RbacV1().ClusterRoles().Delete(e.ctx, alleged, metav1.DeleteOptions{}))
	requests := m.audited(m.started)
	noneIsForbidden(e, requests)
	var unused []string
	for _, rule := range manifestRole(e, "with-olm/clusterrole.yaml").Rules {
		if !slices.ContainsFunc(rule.Resources, usedElsewhere.Has) {
			unused = append(unused, unusedOf(rule, requests)...)
		}
	}
	expect(t, unused, "list operators") // of API servers that do not stream lists
}

// catalog-operator executes an InstallPlan again from its first step if another client has changed it meanwhile.
func TestExecutedInstallPlanIsNotLabelled(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineOperators(e)
	plan(e, "operator.v1", nil)
	plans := e.olm.InstallPlans(e.namespace)
	executed := kube.Get(e, plans, "install-operator.v1")
	executed.Status.Phase = operatorsv1alpha1.InstallPlanPhaseInstalling
	executed = kube.UpdateStatus(e, plans, executed)
	manageInPlaceOfOLM(e)
	subscribe(e, nil)
	e.install(csv("operator.v1", "server"))
	installs(e, "operator.v1", executed.Name)
	e.eventually("the Operator refers to the version", func() (bool, any) {
		all := references(e)
		return slices.Contains(all, "ClusterServiceVersion operator.v1 Succeeded=True"), all
	})

	executed.Status.Phase = operatorsv1alpha1.InstallPlanPhaseComplete
	kube.UpdateStatus(e, plans, executed) // it fails if the InstallPlan has changed
	e.eventually("the Operator refers to the InstallPlan", func() (bool, any) {
		all := references(e)
		return slices.Contains(all, "InstallPlan "+executed.Name), all
	})
}

// Two Subscriptions of one package have an InstallPlan each, and each is an owner of both: catalog-operator creates the second
// InstallPlan before the ClusterServiceVersion of the first exists.
func TestTwoSubscriptionsOfAPackage(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineInstallPlans(e)
	m := manageInPlaceOfOLM(e)
	subscriptions, plans := e.olm.Subscriptions(e.namespace), e.olm.InstallPlans(e.namespace)
	names := []string{"operator", "second"}
	var owners []metav1.OwnerReference
	for _, name := range names {
		s := kube.Create(e, subscriptions, &operatorsv1alpha1.Subscription{
			ObjectMeta: named(name), Spec: &operatorsv1alpha1.SubscriptionSpec{CatalogSource: "catalog", CatalogSourceNamespace: e.namespace, Package: "operator"},
		})
		owners = append(owners, *metav1.NewControllerRef(s, operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.SubscriptionKind)))
		owners[len(owners)-1].Controller = nil
	}
	e.install(csv("operator.v1", "server"))
	for _, name := range names {
		plan(e, name, nil)
		p := kube.Get(e, plans, "install-"+name)
		p.OwnerReferences = owners
		kube.Update(e, plans, p)
		s := kube.Get(e, subscriptions, name)
		s.Status.InstalledCSV, s.Status.LastUpdated = "operator.v1", metav1.Now()
		s.Status.InstallPlanRef = &corev1.ObjectReference{Namespace: e.namespace, Name: p.Name}
		kube.UpdateStatus(e, subscriptions, s)
	}
	for _, name := range names {
		e.eventually("the InstallPlan has the label", func() (bool, any) {
			labels := kube.Get(e, plans, "install-"+name).Labels
			_, labelled := labels[e.component()]
			return labelled, labels
		})
	}
	kube.Patch(e, plans, "install-operator", types.MergePatchType, []byte(`{"metadata":{"labels":{"probe":""}}}`)) // both are reconciled again
	e.install(csv("other.v1", "other"))
	patches := slices.DeleteFunc(m.audited(m.started), func(r auditv1.Event) bool { return r.Verb != "patch" || r.ObjectRef.Resource != "installplans" })
	if len(patches) > 3 { // the label of each, and one removed before the second was named
		t.Errorf("%d patches of InstallPlans", len(patches))
	}
}

// usedElsewhere are resources of manifests/with-olm whose permissions other tests compare with what is used:
// TestClusterProxy, TestCRDPolicyIsKept, TestCopiesInAllNamespaces, and the tests of installation by an account.
var usedElsewhere = sets.New("proxies", "serviceaccounts", "mutatingadmissionpolicies", "clusterserviceversions", "olmconfigs", "olmconfigs/status")

// What the manager lifts is in its own record only after it is created: labels alone are no proof.
func TestLiftedPermissionsAreComponents(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineOperators(e)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	manageInPlaceOfOLM(e)
	subscribe(e, nil)
	operator := asking(csv(e.namespace+".v1", "server"), readPods)
	role := permissions.PlannedRole(operator.Name, operator.Spec.InstallStrategy.StrategySpec.Permissions[0])
	bindRoleIn(e, e.namespace, role)
	plan(e, operator.Name, map[string]operatorsv1alpha1.StepStatus{"Role " + role: operatorsv1alpha1.StepStatusCreated})
	kube.Patch(e, e.olm.InstallPlans(e.namespace), "install-"+operator.Name, types.MergePatchType, []byte(`{"spec": {"approved": true}}`))
	e.install(operator)
	installs(e, operator.Name, "install-"+operator.Name)
	e.eventually("the Operator refers to the lifted permissions", func() (bool, any) {
		all, lifted := references(e), strings.ReplaceAll(role, e.namespace, "NS")
		return slices.Contains(all, "ClusterRole "+lifted) && slices.Contains(all, "ClusterRoleBinding "+lifted), all
	})
	e.uninstall(operator.Name)
}

// A cluster without the kind Operator has the labels all the same. When the kind is served, the Operators are created.
func TestOperatorsAreServedLater(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	m := manageInPlaceOfOLM(e)
	subscribe(e, nil)
	e.install(csv("operator.v1", "server"))
	installs(e, "operator.v1", "none")
	becomes(e, "the Deployment is labelled", func() bool { _, labelled := e.deployment("server").Labels[e.component()]; return labelled }, true)
	m.settles("operator.v1")
	defineOperators(e)
	e.eventually("the Operator refers to the Deployment", func() (bool, any) {
		all := references(e)
		return slices.Contains(all, "Deployment server Available=True"), all
	})
}

// The manager does not fight with a client that removes a label each time.
func TestComponentLabelIsContested(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	m := manageInPlaceOfOLM(e)
	subscribe(e, nil)
	e.install(csv("operator.v1", "server"))
	installs(e, "operator.v1", "none")
	labelled := func() bool { _, exists := e.deployment("server").Labels[e.component()]; return exists }
	becomes(e, "the Deployment is labelled", labelled, true)
	edits := 0
	for paused := false; !paused; edits++ {
		kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), "server", types.MergePatchType, []byte(`{"metadata": {"labels": {"`+e.component()+`": null}}}`))
		e.eventually("the Deployment is labelled, or the manager pauses", func() (bool, any) {
			events := m.reported()
			paused = slices.ContainsFunc(events, func(event string) bool {
				return strings.HasPrefix(event, "Warning ComponentNotLabelled Deployment "+e.namespace+"/server")
			})
			return paused || labelled(), events
		})
	}
	same(t, "the number of edits until the manager pauses", edits, 4)
	same(t, "the Deployment is labelled during the pause", labelled(), false)
}

// What a user writes into a Subscription names no component of another namespace, and no invalid label.
func TestPackagesOfSubscriptions(t *testing.T) {
	e := newEnvInPlaceOfOLM(t)
	defineOperators(e)
	m := manageInPlaceOfOLM(e)
	for name, pkg := range map[string]string{"invalid": "a b/c", "upper": "Upper", "long": strings.Repeat("a", 70)} {
		kube.Create(e, e.olm.Subscriptions(e.namespace), &operatorsv1alpha1.Subscription{
			ObjectMeta: named(name), Spec: &operatorsv1alpha1.SubscriptionSpec{CatalogSource: "catalog", CatalogSourceNamespace: e.namespace, Package: pkg},
		})
	}
	labelsOf := func(name string) []string {
		labels := slices.Sorted(maps.Keys(kube.Get(e, e.olm.Subscriptions(e.namespace), name).Labels))
		return slices.DeleteFunc(labels, func(label string) bool { return !strings.HasPrefix(label, "operators.coreos.com/") })
	}
	short := strings.Repeat("a", 63)
	becomes(e, "the label of a long package", func() []string { return labelsOf("long") }, []string{"operators.coreos.com/" + short})
	becomes(e, "the label of a package that no Operator can be named after", func() []string { return labelsOf("upper") }, []string{"operators.coreos.com/Upper." + e.namespace})
	e.eventually("the Operator has the shortened name", func() (bool, any) {
		_, err := e.olm.Operators().Get(e.ctx, short, metav1.GetOptions{})
		return err == nil, err
	})
	e.must(e.olm.Operators().Delete(e.ctx, short, metav1.DeleteOptions{}))
	none(t, "the labels for an invalid package", labelsOf("invalid"))
	for _, r := range m.audited(m.started) {
		if code := r.ResponseStatus.Code; code == http.StatusBadRequest || code == http.StatusUnprocessableEntity {
			t.Errorf("invalid: %s %s: %s", r.Verb, r.RequestURI, r.ResponseStatus.Message)
		}
	}
}
