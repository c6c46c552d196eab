package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Webhooks go before anything else does: once their backends go, they could refuse the
// rest. What is namespaced is left to the garbage collector, which nobody plays here.
func TestUninstall(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	e.manage()
	e.install(bundle())
	e.watchesUnregistration("operator.v1", func() { e.uninstall("operator.v1") })
	e.leavesNothing()
}

// watchesUnregistration fails when a ClusterServiceVersion loses its finalizer while any
// of its webhooks is registered.
func (e *env) watchesUnregistration(csv string, uninstall func()) {
	e.Helper()
	w, err := e.olm.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Watch(e.ctx, metav1.SingleObject(metav1.ObjectMeta{Name: csv}))
	e.must(err)
	defer w.Stop()
	uninstall()
	for event := range w.ResultChan() {
		c := event.Object.(*operatorsv1alpha1.ClusterServiceVersion)
		if len(c.Finalizers) == 0 || event.Type == watch.Deleted {
			if left := e.owned(clusterScoped); len(left) > 0 {
				e.Errorf("the finalizer is gone, and these are not:\n%s", namesOf(left))
			}
			return
		}
	}
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
	config := cluster.Config()
	frozen := &freezer{resource: "webhookconfigurations"}
	config.Wrap(frozen.through)
	m := e.manageThrough(config)
	e.eventually("the caches are filled", func() (bool, any) { return m.passes("Namespaces") > 0, nil })
	frozen.freeze()
	defer frozen.thaw()
	e.install(bundle())
	e.uninstall("operator.v1")
	if frozen.held.Load() == 0 {
		t.Error("the cache was not stale")
	}
	if left := e.owned(clusterScoped); len(left) > 0 {
		t.Errorf("left behind:\n%s", namesOf(left))
	}
}
