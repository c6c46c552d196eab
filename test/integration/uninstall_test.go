package integration

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Namespaced objects are left to the garbage collector, which no test plays here.
func TestUninstall(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	e.manage()
	e.install(bundle())
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// Webhooks go before anything else does: once their backends go, they could refuse the
// rest. A ClusterServiceVersion stays as long as one of them cannot be unregistered.
func TestUninstallWaitsForUnregistration(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	var allowed atomic.Bool
	var refused atomic.Int32
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "mutatingwebhookconfigurations") && !allowed.Load() {
			refused.Add(1)
			return kube.DropBefore
		}
		return kube.Pass
	})
	manageThrough(e, proxy.Config())
	e.install(bundle())
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.eventually("the manager has tried more than once", func() (bool, any) { return refused.Load() > 1, refused.Load() })
	if finalizers := e.get("operator.v1").Finalizers; len(finalizers) != 1 {
		t.Errorf("finalizers %v while a webhook is registered", finalizers)
	}
	allowed.Store(true)
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// Nothing can be created in a Namespace that is being deleted, and its pods may go at
// any time: its webhooks go at once. The Namespace's controller deletes the rest.
func TestNamespaceIsDeleted(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := e.manage()
	e.install(bundle())
	e.must(e.kube.CoreV1().Namespaces().Delete(e.ctx, e.namespace, metav1.DeleteOptions{}))
	e.eventually("the webhooks are unregistered", func() (bool, any) {
		left := e.owned(clusterScoped)
		return len(left) == 0, namesOf(left)
	})
	e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
	m.looksAgain("operator.v1")
	if left := e.owned(clusterScoped); len(left) > 0 {
		t.Errorf("registered again:\n%s", namesOf(left))
	}
	e.uninstall("operator.v1")
}

// What was registered a moment before the deletion is unregistered, too, though the
// manager's cache does not show it.
func TestUninstallWithAStaleCache(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	frozen := e.freezer("webhookconfigurations")
	m := manageThrough(e, frozen.config)
	e.eventually("the caches are filled", func() (bool, any) { return m.passes("Namespace") > 0, nil })
	frozen.freeze()
	defer frozen.thaw()
	e.install(bundle())
	e.uninstall("operator.v1")
	if frozen.held.Load() == 0 {
		t.Error("the cache was not stale")
	}
	leavesNothing(e)
}
