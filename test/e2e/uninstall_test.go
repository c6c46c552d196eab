package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An uninstalled operator leaves nothing, and its going costs no call: its webhook is
// unregistered before its pods end.
func TestUninstallUnderLoad(t *testing.T) {
	e := newBareEnv(t)
	before := e.restingCluster()
	e.group()
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	if made := e.derived(); len(made) < 7 {
		t.Errorf("the manager made %q, which are fewer than there must be: is this test looking?", made)
	}

	load := e.startLoad()
	load.goesOn(denied)
	deleted := time.Now()
	e.uninstall("hook.v1")
	e.eventually("its pods are gone", func() (bool, any) {
		pods, err := kubeClient.CoreV1().Pods(e.namespace).List(e.ctx, metav1.ListOptions{})
		e.must(err)
		return len(pods.Items) == 0, len(pods.Items)
	})
	load.goesOn(uncovered)
	load.end(uncoveredSince(deleted))

	e.must(olmClient.OperatorsV1().OperatorGroups(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	e.clusterIs(before)
}

// An operator that goes with its Namespace does not stop the Namespace from going, nor
// does its webhook outlive it.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	e.removeNamespace()
}
