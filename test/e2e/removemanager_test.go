package e2e

import (
	"context"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The manager is removed as docs/admin/uninstall.md says. Its operators keep running without webhooks, except for a
// conversion that objects need, and in the end nothing is left.
func TestManagerUninstalled(t *testing.T) {
	before := (&env{T: t, ctx: t.Context()}).restingCluster()
	e := newEnv(t)
	e.create(owningAPI(hookCSV("hook.v1", server("hook"))))
	stored := storesACache(e)
	e.succeeds("hook.v1")
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	e.Cleanup(e.bringManagerBack)

	refusesNextToAnotherManager(stored.env)
	stored.holdsTheConversion()
	e.manager("remove-manager", "--yes")
	stored.losesItsConverter()
	if csv := e.get("hook.v1"); len(csv.Finalizers) > 0 {
		t.Errorf("hook.v1 has the finalizers %v, and no client removes them", csv.Finalizers)
	}
	for _, left := range e.derived() {
		if strings.Contains(left, "  ") { // it has no Namespace, and no client would collect it
			t.Errorf("%s is left of hook.v1", left)
		}
	}
	callsAre(e, calls.Uncovered)
	e.rolledOut("hook")
	e.kubectl("delete", "-k", "manifests/manager")
	e.kubectl("delete", "-k", "manifests/crds")

	e.uninstall("hook.v1")
	removeNamespace(e)
	e.eventually("nothing is left of the manager, and all else is as before it installed anything", func() (bool, any) {
		changes := before.changes(e.snapshot())
		for _, change := range changes {
			if what, gone := strings.CutSuffix(change, " no longer exists"); !gone || !strings.Contains(what, managerDeployment) {
				return false, changes
			}
		}
		return len(changes) > 0, changes
	})
}

// refusesNextToAnotherManager holds the Lease of a manager of all namespaces in another namespace.
func refusesNextToAnotherManager(e *env) {
	e.Helper()
	lease := kube.Create(e, kubeClient.CoordinationV1().Leases(e.namespace), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: wellknown.FieldManager},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("manager-0_x"), RenewTime: new(metav1.NowMicro()), LeaseDurationSeconds: new(int32(3600))},
	})
	(&terminal{env: e}).fails(1, []string{e.namespace + "/" + lease.Name + " is held by manager-0_x"}, "remove-manager", "--yes")
	e.must(kubeClient.CoordinationV1().Leases(e.namespace).Delete(e.ctx, lease.Name, metav1.DeleteOptions{}))
}

type storedCache struct {
	*env
	files, crd string
	client     *caches.Client
}

func storesACache(e *env) *storedCache {
	e.Helper()
	const files = "examples/crdconversion"
	s := &storedCache{newExample(e.T, "crdconversion", files+"/install"), files, "caches.crdconversion.example.com", &caches.Client{Dynamic: dynamicClient, Namespace: "default"}}
	s.kubectl("apply", "--server-side", "-k", files+"/install")
	applyBundle(s.env, files+"/bundle-v2", "crdconversion.v2.0.0")
	s.Cleanup(func() { s.kubectl("delete", "crd", s.crd, "--wait", "--ignore-not-found") })
	s.eventually("a Cache is converted and stored", func() (bool, any) {
		_, err := kubectl(s.ctx, "apply", "-f", files+"/samples/cache-v1.yaml")
		return err == nil, err
	})
	return s
}

// holdsTheConversion deletes the Cache, without which the manager leaves all the same, after
// the manager has stopped and reported that it needs its conversion, which continues.
func (s *storedCache) holdsTheConversion() {
	s.Helper()
	(&terminal{env: s.env}).fails(1, []string{
		"crdconversion.v2.0.0: without the conversion webhook objects would lose fields: ", s.crd + " has 1 object, ", "stored in ", wellknown.AnnotationForceConversion + "=true", "then run the command again",
	}, "remove-manager", "--yes")
	for _, version := range caches.Versions {
		s.client.Get(s.T, version, "sessions")
	}
	s.kubectl("delete", "-f", s.files+"/samples/cache-v1.yaml")
}

// losesItsConverter removes what is left of the operator. Its pods would drain, as if a client called them.
func (s *storedCache) losesItsConverter() {
	s.Helper()
	strategy, err := kubectl(s.ctx, "get", "crd", s.crd, "-o", "jsonpath={.spec.conversion.strategy}")
	s.must(err)
	if strategy != "None" {
		s.Errorf("the conversion of %s is %s although there are no objects", s.crd, strategy)
	}
	s.kubectl("delete", "deployments,replicasets,pods", "--all", "-n", s.namespace, "--grace-period=0", "--force")
	s.kubectl("delete", "-k", s.files+"/install", "--wait=false")
	s.kubectl("delete", "crd", s.crd)
}

// bringManagerBack applies what hack/deploy.sh did.
func (e *env) bringManagerBack() {
	e.Helper()
	e.ctx = context.WithoutCancel(e.ctx)
	e.kubectl("apply", "--server-side", "-k", "out/deploy")
	startManager(e)
}
