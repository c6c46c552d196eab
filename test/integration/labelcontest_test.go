package integration

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Another client that removes an OperatorGroup's label from a Namespace as often as it is written ends in a contest.
func TestContestOverALabel(t *testing.T) {
	e := newParallelEnv(t)
	target := newNamespace(e, "", nil)
	group := e.group("og", namespaces(target))
	ctx, stop := context.WithCancel(e.ctx)
	removed := removeLabel(ctx, e, target, scope.LabelOf(group))
	e.manage()
	e.eventually("the OperatorGroup reports who removes its label", func() (bool, any) {
		c := meta.FindStatusCondition(groupStatus(e, "og").Conditions, scope.ConditionLabelRefused)
		return c != nil && strings.Contains(c.Message, "keeps changing metadata.labels."+scope.LabelOf(group)+" back"), c
	})
	stop()
	if n := <-removed; n > 6 {
		t.Errorf("the label was written and removed %d times before the manager paused, want at most 6", n)
	}
}

// removeLabel removes a label from a Namespace whenever it is set, and returns how often it did when it ends.
func removeLabel(ctx context.Context, e *env, namespace, label string) <-chan int {
	e.Helper()
	client, removed := e.kube.CoreV1().Namespaces(), make(chan int, 1)
	events, err := client.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: namespace}))
	e.must(err)
	go func() {
		n := 0
		defer func() { removed <- n }()
		for range events.ResultChan() {
			live, err := client.Get(ctx, namespace, metav1.GetOptions{})
			if err != nil {
				continue
			}
			if _, there := live.Labels[label]; there {
				if _, err := client.Patch(ctx, namespace, types.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/labels/`+strings.ReplaceAll(label, "/", "~1")+`"}]`), metav1.PatchOptions{FieldManager: "tenants"}); err == nil {
					n++
				}
			}
		}
	}()
	return removed
}
