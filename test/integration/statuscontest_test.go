package integration

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Another client that sets the phase of a ClusterServiceVersion back as often as the manager writes it,
// such as an OLM v0 that was started later, ends in a contest: the manager pauses, and reports it.
func TestContestOverTheStatus(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	e.manage()
	e.install(csv("operator.v1", "server"))
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	changed := e.setPhaseBack(ctx, "operator.v1")
	e.eventually("the contest is reported", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Contested")
		return c != nil && strings.Contains(c.Message, "ClusterServiceVersion "+e.namespace+"/operator.v1") && strings.Contains(c.Message, "status"), c
	})
	stop()
	if n := <-changed; n > 8 {
		t.Errorf("the phase was written and set back %d times before the manager paused, want at most 8", n)
	}
}

// setPhaseBack sets the phase of a ClusterServiceVersion to Pending whenever it is Succeeded. It returns
// how often it did when its context ends.
func (e *env) setPhaseBack(ctx context.Context, name string) <-chan int {
	e.Helper()
	client, changed := e.olm.OperatorsV1alpha1().ClusterServiceVersions(e.namespace), make(chan int, 1)
	events, err := client.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	e.must(err)
	go func() {
		n := 0
		defer func() { changed <- n }()
		for range events.ResultChan() {
			live, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil || live.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
				continue
			}
			live.Status.Phase, live.Status.Message = operatorsv1alpha1.CSVPhasePending, "another client wrote this"
			if _, err := client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"}); err == nil {
				n++
			}
		}
	}()
	return changed
}
