package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Another client that sets the phase of a ClusterServiceVersion back as often as the manager writes it,
// such as an OLM v0 that was started later, ends in a contest: the manager pauses, and reports it.
func TestContestOverTheStatus(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.ClusterServiceVersions(e.namespace)
	changed := revert(ctx, e, client.Watch, "operator.v1", func() bool {
		live, err := client.Get(ctx, "operator.v1", metav1.GetOptions{})
		if err != nil || live.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
			return false
		}
		live.Status.Phase, live.Status.Message = operatorsv1alpha1.CSVPhasePending, "another client wrote this"
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	e.eventually("the contest is reported", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Contested")
		return c != nil && strings.Contains(c.Message, "ClusterServiceVersion "+e.namespace+"/operator.v1") && strings.Contains(c.Message, "status"), c
	})
	stop()
	atMostEight(t, <-changed)
}

func TestContestOverTheStatusOfAWebhookRollout(t *testing.T) {
	e := newOperatorEnv(t)
	m := runOperator(e)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.WebhookRollouts(e.namespace)
	changed := revert(ctx, e, client.Watch, "operator.v1", func() bool {
		live, err := client.Get(ctx, "operator.v1", metav1.GetOptions{})
		if err != nil || len(live.Status.Conditions) == 0 {
			return false
		}
		live.Status.Conditions = nil
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	m.emits("Warning Contested WebhookRollout " + e.namespace + "/operator.v1")
	stop()
	atMostEight(t, <-changed)
}

func TestContestOverTheStatusOfAnOperatorGroup(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	m := e.manage()
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	client := e.olm.OperatorGroups(e.namespace)
	changed := revert(ctx, e, client.Watch, "og", func() bool {
		live, err := client.Get(ctx, "og", metav1.GetOptions{})
		if err != nil || !slices.Equal(live.Status.Namespaces, []string{metav1.NamespaceAll}) {
			return false
		}
		live.Status.Namespaces = []string{"another"}
		_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{FieldManager: "another"})
		return err == nil
	})
	m.emits("Warning Contested OperatorGroup " + e.namespace + "/og")
	stop()
	atMostEight(t, <-changed)
}

func atMostEight(t *testing.T, n int) {
	t.Helper()
	if n > 8 {
		t.Errorf("the status was written and reverted %d times before the manager paused, want at most 8", n)
	}
}

type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

// revert calls a function at each change of an object until the context ends. It then returns how often
// the function reverted what the manager wrote.
func revert(ctx context.Context, e *env, start watchFunc, name string, do func() (reverted bool)) <-chan int {
	e.Helper()
	changed := make(chan int, 1)
	events, err := start(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	e.must(err)
	go func() {
		n := 0
		defer func() { changed <- n }()
		for range events.ResultChan() {
			if do() {
				n++
			}
		}
	}()
	return changed
}
