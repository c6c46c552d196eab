package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A removed manager leaves no webhook without a manager, except for a conversion that objects need. The test is not
// parallel: the removal of the manager is for the whole cluster.
func TestManagerRemoved(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	crd := newCRD(e, "farewells", "v1", "v2")
	m := e.manage(func(o *controller.Options) { o.LiftRoles = true })
	object := newObject(e, crd)
	e.install(converting("operator.v1", crd.Name))
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	role := e.namespace + "-reader" // there is one of the cluster for all tests
	bindRoleIn(e, e.namespace, role)
	e.install(asking(csv("other.v1", "other"), readPods))
	expect(t, lifted(e), "ClusterRole /"+role, "ClusterRoleBinding /"+role)
	granted := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-granted", Labels: csvspec.OwnerLabels(e.get("other.v1"))}}
	kube.Create(e, e.kube.RbacV1().ClusterRoles(), granted)
	m.stop()

	clients, err := clients.New(cluster.Config())
	e.must(err)
	e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "server-service", metav1.DeleteOptions{})) // the definition names it still
	plansTheRemoval(e, "operator.v1", "other.v1", role)
	err = uninstall.Manager(e.ctx, clients, logger())
	for _, said := range []string{
		"operator.v1: without the conversion webhook objects would lose fields: ", crd.Name + " has 1 object, stored in v2", wellknown.AnnotationForceConversion + "=true", "then run the command again",
	} {
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("the error does not contain %q: %v", said, err)
		}
	}
	registersNothing(e)
	none(t, "finalizers of other.v1", e.get("other.v1").Finalizers)
	expect(t, lifted(e), "ClusterRole /"+granted.Name) // the installer's
	same(t, "the conversion strategy while there are objects", conversion(e, crd.Name).Strategy, apiextensionsv1.WebhookConverter)

	e.must(objects(e, crd).Delete(e.ctx, object, metav1.DeleteOptions{}))
	e.must(uninstall.Manager(e.ctx, clients, logger()))
	same(t, "the conversion strategy without objects", conversion(e, crd.Name).Strategy, apiextensionsv1.NoneConverter)
	none(t, "objects that the definition keeps, and no client would remove", keptBy(e, crd))
	e.uninstall("operator.v1")
	e.uninstall("other.v1")
}

// plansTheRemoval lists what would be deleted and changed, while all of it stays.
func plansTheRemoval(e *env, converting, other, lifted string) {
	e.Helper()
	registered := namesOf(e.owned(clusterScoped))
	planned, err := uninstall.ManagerPlan(e.ctx, cluster.Config())
	var inUse uninstall.HeldError
	if !errors.As(err, &inUse) || len(inUse.Held) != 1 {
		e.Errorf("the conversion that stays is not listed: %v", err)
	}
	none(e, "refused requests of a user who may do everything", planned.Refused)
	for _, want := range []string{
		"delete validatingwebhookconfigurations.admissionregistration.k8s.io v.",
		"delete clusterroles.rbac.authorization.k8s.io " + lifted, "delete clusterrolebindings.rbac.authorization.k8s.io " + lifted,
		"change clusterserviceversions.operators.coreos.com " + e.namespace + "/" + other,
	} {
		if !slices.ContainsFunc(planned.Writes, func(w string) bool { return strings.HasPrefix(w, want) }) {
			e.Errorf("%q is not listed, but %q", want, planned.Writes)
		}
	}
	same(e, "registrations after a list of what would be deleted", namesOf(e.owned(clusterScoped)), registered)
	for _, name := range []string{converting, other} {
		if finalizers := e.get(name).Finalizers; len(finalizers) == 0 {
			e.Errorf("%s has no finalizer any more", name)
		}
	}
}

// The plan names what the API server would refuse, by permissions and by admission, before anything is written, and
// lists the other writes all the same.
func TestManagerRemovalIsRefusedBeforehand(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(csv("a.v1", "a"))
	e.install(csv("b.v1", "b"))
	m.stop()
	registered := namesOf(e.owned(clusterScoped))
	refused := e.rollout("a.v1").Deployments[0].Webhooks[0].Configuration
	kept := e.rollout("b.v1").Deployments[0].Webhooks[0].Configuration
	plan := func(config *rest.Config) uninstall.Plan {
		e.Helper()
		planned, err := uninstall.ManagerPlan(e.ctx, config, e.namespace)
		var held uninstall.HeldError
		if err != nil && !errors.As(err, &held) {
			e.must(err)
		}
		const deletion = "delete validatingwebhookconfigurations.admissionregistration.k8s.io "
		installtest.Among(e, planned.Writes, deletion+refused, deletion+kept)
		for _, name := range []string{"a.v1", "b.v1"} {
			same(t, "the number of finalizers of "+name, len(e.get(name).Finalizers), 1)
		}
		same(e, "registrations after a list of what would be deleted", namesOf(e.owned(clusterScoped)), registered)
		return planned
	}
	none(t, "refused requests of a user who may do everything", plan(cluster.Config()).Refused)

	got := plan(withoutDeletions(e)).Refused
	if len(got) != 2 {
		t.Fatalf("without permission for deletions: %q", got)
	}
	for i, name := range []string{refused, kept} {
		if want := "the API server refuses to delete validatingwebhookconfigurations.admissionregistration.k8s.io " + name + ": User "; !strings.HasPrefix(got[i], want) {
			t.Errorf("%q does not begin with %q", got[i], want)
		}
	}

	accept := refuseDeletion(e, refused)
	defer accept()
	got = plan(cluster.Config()).Refused
	if len(got) != 1 || !strings.Contains(got[0], refused) || !strings.Contains(got[0], "no deletion of this configuration") {
		t.Errorf("with a policy that refuses one of the deletions: %q", got)
	}
	accept()
	clients := installtest.OrPanic(clients.New(cluster.Config()))
	e.must(uninstall.Manager(e.ctx, clients, logger(), e.namespace))
}

// withoutDeletions returns the configuration of a user who may do everything but delete webhook configurations.
func withoutDeletions(e *env) *rest.Config {
	e.Helper()
	meta := metav1.ObjectMeta{Name: "no-deletions-" + e.namespace}
	anything := func(groups, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: verbs}
	}
	all := []string{"*"}
	kube.Create(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		anything(all, all, "get", "list", "watch", "create", "update", "patch"),
		anything([]string{"", "apps", "rbac.authorization.k8s.io", "apiregistration.k8s.io", "operators.coreos.com", "olm-webhook-manager.io"}, all, "delete"),
	}})
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: meta.Name}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: meta.Name, Groups: []string{"system:authenticated"}}
	set := installtest.OrPanic(clients.New(config))
	e.eventually("the user has the permissions", func() (bool, any) {
		_, err := set.OLM.ClusterServiceVersions(e.namespace).List(e.ctx, metav1.ListOptions{})
		return err == nil, err
	})
	return config
}

// A manager that works in the same namespaces is found by its Deployment, and by its Lease; one that
// is limited to others is not in the way.
func TestRefuseOtherManagers(t *testing.T) {
	e := newParallelEnv(t)
	other := neighbour(e)
	own := types.NamespacedName{Namespace: e.namespace, Name: "manager"}
	refusal := func(exists bool) string {
		if err := coexistence.RefuseOtherManagers(e.ctx, e.kube, own, exists, []string{e.namespace}, time.Now()); err != nil {
			return err.Error()
		}
		return ""
	}
	says := func(what, got string, want ...string) {
		e.Helper()
		installtest.Contains(e, got, want...)
		if len(want) == 0 && got != "" {
			e.Errorf("%s: %s", what, got)
		}
	}
	says("no manager", refusal(true))

	leases := e.kube.CoordinationV1().Leases(other.namespace)
	lease := kube.Create(e, leases, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: wellknown.FieldManager},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("manager-0_x"), RenewTime: new(metav1.NowMicro()), LeaseDurationSeconds: new(int32(3600))},
	})
	says("a Lease that is held", refusal(true), "lease "+other.namespace+"/olm-webhook-manager is held by manager-0_x", "kubectl -n "+other.namespace+" delete lease")
	limited := aHookPod()
	limited.GenerateName, limited.Name, limited.Spec.Containers[0].Args = "", "manager-0", []string{"run", "--namespaces=" + other.namespace}
	kube.Create(e, e.kube.CoreV1().Pods(other.namespace), limited)
	says("a Lease of a manager of another namespace", refusal(true))
	lease.Spec.HolderIdentity = new("")
	kube.Update(e, leases, lease)

	for name, args := range map[string][]string{"all": {"run"}, "others": {"run", "--namespaces=" + other.namespace}} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "olm-webhook-manager"}}}
		pod := aHookPod()
		pod.Spec.Containers[0].Args = args
		d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: pod.Labels}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}
		kube.Create(e, e.kube.AppsV1().Deployments(other.namespace), d)
	}
	says("a Deployment of a manager of all namespaces", refusal(true), "deployment "+other.namespace+"/all is a manager of namespaces "+e.namespace, "scale deployment all --replicas=0")
}

// A manager that is limited to some namespaces does not modify, when it is removed, what an OLM v0 looks after
// in others: it has the same labels and the same finalizer.
func TestLimitedManagerRemoved(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	legacy := neighbour(e)
	runOperator(e).stop()

	theirs := csv("legacy.v1", "server")
	theirs.Finalizers = []string{wellknown.FinalizerCSV}
	theirs = legacy.create(theirs)
	kube.Create(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "v.legacy.example.com-", Labels: csvspec.OwnerLabels(theirs)},
	})
	clients := installtest.OrPanic(clients.New(cluster.Config()))
	e.must(uninstall.Manager(e.ctx, clients, logger(), e.namespace))
	registersNothing(e)
	none(t, "finalizers of operator.v1", e.get("operator.v1").Finalizers)
	same(t, "the number of finalizers of legacy.v1, which is OLM v0's", len(legacy.get("legacy.v1").Finalizers), 1)
	same(t, "the number of OLM v0's webhooks that are left", len(legacy.owned(clusterScoped)), 1)
	legacy.edit("legacy.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = nil })
}
