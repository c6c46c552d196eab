package integration

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestScopeShrinks(t *testing.T) {
	e := newParallelEnv(t)
	other := newNamespace(e, "", nil)
	group := e.group("og", namespaces(e.namespace, other))
	e.runDeployments()
	runOperator(e)
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.TargetNamespaces = []string{e.namespace} })
	e.eventually("the group reports it", func() (bool, any) {
		got := groupStatus(e, "og").Namespaces
		return slices.Equal(got, []string{e.namespace}), got
	})
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
			e.eventually("the registration selects again", func() (bool, any) {
				got := e.registration("v.example.com").Webhooks[0].NamespaceSelector
				return gocmp.Equal(got, selectorOf(group)), got
			})
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
	if got, want := e.registration("v.example.com").Webhooks[0].NamespaceSelector, selectorOf(&operatorsv1.OperatorGroup{}); !gocmp.Equal(got, want) {
		t.Errorf("the Namespace has no label yet, and the webhook selects by %v", got)
	}
	labelling.Store(true)
	e.eventually("the registration selects by the label", func() (bool, any) {
		got := e.registration("v.example.com").Webhooks[0].NamespaceSelector
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
