package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What an OperatorGroup targets, on what its operators' webhooks are registered, and what is reported about it.
func TestScope(t *testing.T) {
	for name, test := range map[string]struct {
		spec    func(own, other string) operatorsv1.OperatorGroupSpec
		targets func(own, other string) []string
	}{
		"own namespace": {
			func(own, _ string) operatorsv1.OperatorGroupSpec { return namespaces(own) },
			func(own, _ string) []string { return []string{own} },
		},
		"single namespace": {
			func(_, other string) operatorsv1.OperatorGroupSpec { return namespaces(other) },
			func(_, other string) []string { return []string{other} },
		},
		"several namespaces": {
			func(own, other string) operatorsv1.OperatorGroupSpec { return namespaces(own, other) },
			func(own, other string) []string { return []string{own, other} },
		},
		"selected namespaces": {
			func(_, other string) operatorsv1.OperatorGroupSpec { return selecting("test", other) },
			func(_, other string) []string { return []string{other} },
		},
		"all namespaces": {
			func(string, string) operatorsv1.OperatorGroupSpec { return allNamespaces },
			func(string, string) []string { return []string{""} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			other := newNamespace(e, "", nil)
			labelNamespace(e, other, "test", other)
			targets := slices.Sorted(slices.Values(test.targets(e.namespace, other)))
			group := e.group("og", test.spec(e.namespace, other))
			e.runDeployments()
			runOperator(e)

			same(t, "namespaceSelector", selected(e), selectorOf(group))
			becomes(e, fmt.Sprintf("status.namespaces of the group is %v", targets), func() []string { return groupStatus(e, "og").Namespaces }, targets)
			carriesLabel(e, group, targets, e.namespace, other)
			annotations := map[string]string{"olm.operatorGroup": "og", "olm.operatorNamespace": e.namespace, "olm.targetNamespaces": strings.Join(targets, ",")}
			same(t, "annotations", e.get("operator.v1").Annotations, annotations)
		})
	}
}

func TestScopeLabelsNamespacesThatComeLater(t *testing.T) {
	e := newParallelEnv(t)
	later := e.namespace + "-later"
	group := e.group("og", namespaces(e.namespace, later))
	e.runDeployments()
	runOperator(e)
	newNamespace(e, later, nil)
	carriesLabel(e, group, []string{later}, later)
}

func isRegistration(write string) bool { return strings.Contains(write, "webhookconfigurations") }

func TestScopeShrinks(t *testing.T) {
	e := newParallelEnv(t)
	other := newNamespace(e, "", nil)
	group := e.group("og", namespaces(e.namespace, other))
	e.runDeployments()
	runOperator(e)
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.TargetNamespaces = []string{e.namespace} })
	becomes(e, "the group reports it", func() []string { return groupStatus(e, "og").Namespaces }, []string{e.namespace})
	carriesLabel(e, group, []string{e.namespace}, e.namespace, other)
}

func TestScopeChangeReachesTheRegistration(t *testing.T) {
	for name, test := range map[string]struct {
		before, after func(own string) operatorsv1.OperatorGroupSpec
	}{
		"another selector": {
			func(own string) operatorsv1.OperatorGroupSpec { return selecting("test", own) },
			func(own string) operatorsv1.OperatorGroupSpec { return selecting("test2", own) },
		},
		"from names to all": {
			func(own string) operatorsv1.OperatorGroupSpec { return namespaces(own) },
			func(string) operatorsv1.OperatorGroupSpec { return allNamespaces },
		},
		"from all to names": {
			func(string) operatorsv1.OperatorGroupSpec { return allNamespaces },
			func(own string) operatorsv1.OperatorGroupSpec { return namespaces(own) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			labelNamespace(e, e.namespace, "test", e.namespace)
			labelNamespace(e, e.namespace, "test2", e.namespace)
			e.group("og", test.before(e.namespace))
			e.runDeployments()
			runOperator(e)
			uid := e.registration("v.example.com").UID
			group := editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = test.after(e.namespace) })
			becomes(e, "the registration selects again", func() *metav1.LabelSelector { return selected(e) }, selectorOf(group))
			same(t, "the uid of the registration, without which the webhook is not called", e.registration("v.example.com").UID, uid)
			e.succeeds("operator.v1")
		})
	}
}

// In between, no Namespace of the old or the new scope is without its webhook.
func TestScopeNarrowsOnceNamespacesAreLabelled(t *testing.T) {
	e := newOperatorEnv(t)
	var labelling atomic.Bool // is let through
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if strings.Contains(r.URL.Path, "/namespaces/"+e.namespace) && strings.Count(r.URL.Path, "/") == 4 && !labelling.Load() {
			return kube.DropBefore
		}
		return kube.Pass
	})
	m := manageThrough(e, proxy.Config())
	e.install(csv("operator.v1", "server"))
	m.looksAfter(func() {
		editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = namespaces(e.namespace) })
	})
	m.looksAgain("operator.v1")
	same(t, "namespaceSelector while the Namespace has no label", selected(e), selectorOf(&operatorsv1.OperatorGroup{}))
	labelling.Store(true)
	e.eventually("the registration selects by the label", func() (bool, any) {
		got := selected(e)
		return len(got.MatchLabels) > 0, got
	})
}

func TestScopeWidensBeforeNamespacesLoseTheirLabel(t *testing.T) {
	e := newParallelEnv(t)
	group := e.group("og", namespaces(e.namespace))
	e.runDeployments()
	proxy := proxy(e, nil)
	manageThrough(e, proxy.Config())
	e.install(csv("operator.v1", "server"))
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = allNamespaces })
	carriesLabel(e, group, nil, e.namespace)
	writes := proxy.Writes()
	slices.Reverse(writes)
	unlabelled := slices.Index(writes, "PATCH /api/v1/namespaces/"+e.namespace)
	if unlabelled > slices.IndexFunc(writes, isRegistration) {
		t.Errorf("the Namespace lost its label before the webhook's selector was widened; the last first:\n%s", strings.Join(writes, "\n"))
	}
}

// A Namespace whose deletion hangs is a target like any other.
func TestScopeCoversTerminatingNamespaces(t *testing.T) {
	e := newParallelEnv(t)
	other := newNamespace(e, "", nil)
	e.must(e.kube.CoreV1().Namespaces().Delete(e.ctx, other, metav1.DeleteOptions{}))
	group := e.group("og", namespaces(e.namespace, other))
	e.runDeployments()
	runOperator(e)
	carriesLabel(e, group, []string{e.namespace, other}, e.namespace, other)
}

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

// A policy protects the labels of some Namespaces. The others get theirs all the same, the OperatorGroup
// and its ClusterServiceVersion report what is refused, and continue when it is not any more.
func TestANamespaceWhoseLabelIsRefused(t *testing.T) {
	e := newParallelEnv(t)
	protected := installtest.Times(5, func(int) string { return newNamespace(e, "", map[string]string{"protected": e.namespace}) })
	free := newNamespace(e, "", nil)
	allow := protect(e, protected[0])
	group := e.group("og", namespaces(append(protected, free, e.namespace)...))
	e.runDeployments()
	e.manage()
	e.create(csv("operator.v1", "server"))

	carriesLabel(e, group, []string{free, e.namespace}, free, e.namespace)
	refused := func() *metav1.Condition {
		return meta.FindStatusCondition(groupStatus(e, "og").Conditions, scope.ConditionLabelRefused)
	}
	e.eventually("the OperatorGroup reports which Namespaces are refused", func() (bool, any) {
		c := refused()
		return c != nil && strings.Contains(c.Message, "and 2 more") && strings.Contains(c.Message, "labels are protected"), c
	})
	e.webhookIs("", "NamespacesNotLabelled", "labels are protected")
	e.eventually("the status of the ClusterServiceVersion reports it, too", func() (bool, any) {
		message := csvstatus.Explained(e.get("operator.v1").Status)
		return strings.Contains(message, "labels are protected"), message
	})
	registersNothing(e)

	allow()
	carriesLabel(e, group, protected, protected...)
	e.eventually("the OperatorGroup reports nothing of it any more", func() (bool, any) { return refused() == nil, refused() })
	e.succeeds("operator.v1")
}

// protect has a policy refuse changes of the labels of the Namespaces that are labelled as protected for
// the test, and waits until it does so for one of them.
func protect(e *env, namespace string) (allow func()) {
	e.Helper()
	match := matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, []string{""}, "namespaces")
	match.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"protected": e.namespace}}
	allow = addValidatingPolicy(e, "protect-"+e.namespace, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match,
		Validations:      []admissionregistrationv1.Validation{{Expression: "object.metadata.labels == oldObject.metadata.labels", Message: "labels are protected"}},
	})
	attempts := 0
	e.eventually("the policy is in force", func() (bool, any) {
		attempts++
		patch := fmt.Sprintf(`{"metadata":{"labels":{"attempt":"%d"}}}`, attempts)
		_, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, err
	})
	return allow
}
