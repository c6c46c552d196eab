package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// A manager whose pod is deleted during an installation leaves the rest to the other replica. The installation takes
// longer than the kubelet needs to end a process.
func TestLeaderDeletedDuringInstall(t *testing.T) {
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.MinReadySeconds = 8
	e.create(csv)
	e.succeeds(csv.Name)
	undisturbed := e.derived()
	e.uninstall(csv.Name)

	named := func(name string) metav1.ListOptions {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
	}
	for name, watched := range map[string]func() (watch.Interface, error){
		"after its Secret was made": func() (watch.Interface, error) {
			return kubeClient.CoreV1().Secrets(e.namespace).Watch(e.ctx, named("hook-service-cert"))
		},
		"after its Deployment was made": func() (watch.Interface, error) {
			return kubeClient.AppsV1().Deployments(e.namespace).Watch(e.ctx, named("hook"))
		},
	} {
		w, err := watched()
		e.must(err)
		e.create(csv)
		select {
		case <-w.ResultChan():
		case <-time.After(time.Minute):
			t.Fatalf("%s: it was not made within a minute", name)
		}
		killed := killLeader(e)
		w.Stop()
		anotherLeadsThan(e, killed)
		if phase := e.get(csv.Name).Status.Phase; phase == operatorsv1alpha1.CSVPhaseSucceeded {
			t.Fatalf("%s: the installation was over before the other replica led, so this shows nothing", name)
		}
		e.succeeds(csv.Name)
		if diff := cmp.Diff(undisturbed, e.derived()); diff != "" {
			t.Errorf("%s: the objects are others than those of an installation that nothing disturbed (-undisturbed +disturbed):\n%s", name, diff)
		}
		e.denies()
		e.uninstall(csv.Name)
	}
}

// A new version of the manager takes a live webhook over without touching it.
func TestManagerRestartsUnderLoad(t *testing.T) {
	e := newEnv(t)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	registered := e.registration()
	load := e.startLoad()
	restartManager(e)
	load.goesOn(denied)
	load.end(never)
	isUntouched(e, registered)
}
