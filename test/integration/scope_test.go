package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// What an OperatorGroup targets, on what its operators' webhooks are registered, and
// what is said about it.
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
			other := e.newNamespace("", nil)
			e.labelNamespace(other, "test", other)
			targets := slices.Sorted(slices.Values(test.targets(e.namespace, other)))
			group := e.group("og", test.spec(e.namespace, other))
			e.runDeployments()
			e.manage()
			e.install(csv("operator.v1", "server"))

			if got, want := e.registration("v.example.com").Webhooks[0].NamespaceSelector, selectorOf(group); !gocmp.Equal(got, want) {
				t.Errorf("namespaceSelector %v, want %v", got, want)
			}
			if got := e.groupStatus("og").Namespaces; !slices.Equal(got, targets) {
				t.Errorf("status.namespaces of the group %v, want %v", got, targets)
			}
			e.carriesLabel(group, targets, e.namespace, other)
			annotations := map[string]string{"olm.operatorGroup": "og", "olm.operatorNamespace": e.namespace, "olm.targetNamespaces": strings.Join(targets, ",")}
			if got := e.get("operator.v1").Annotations; !maps.Equal(got, annotations) {
				t.Errorf("annotations %v, want %v", got, annotations)
			}
		})
	}
}

// A Namespace that is not labelled yet would not be covered by a webhook that is live.
func TestScopeIsLabelledBeforeRegistration(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.runDeployments()
	proxy := e.proxy(nil)
	e.manageThrough(proxy.Config())
	e.install(csv("operator.v1", "server"))
	label := slices.Index(proxy.Writes(), "PATCH /api/v1/namespaces/"+e.namespace)
	registration := slices.IndexFunc(proxy.Writes(), isRegistration)
	if label < 0 || label > registration {
		t.Errorf("the Namespace is labelled by request %d, the webhook registered by %d:\n%s", label, registration, strings.Join(proxy.Writes(), "\n"))
	}
}

func TestScopeLabelsNamespacesThatComeLater(t *testing.T) {
	e := newParallelEnv(t)
	later := e.namespace + "-later"
	group := e.group("og", namespaces(e.namespace, later))
	e.runDeployments()
	e.manage()
	e.install(csv("operator.v1", "server"))
	e.newNamespace(later, nil)
	e.carriesLabel(group, []string{later}, later)
}

// A Namespace that leaves the group leaves its webhooks' scope.
func TestScopeShrinks(t *testing.T) {
	e := newParallelEnv(t)
	other := e.newNamespace("", nil)
	group := e.group("og", namespaces(e.namespace, other))
	e.runDeployments()
	e.manage()
	e.install(csv("operator.v1", "server"))
	e.editGroup("og", func(g *operatorsv1.OperatorGroup) { g.Spec.TargetNamespaces = []string{e.namespace} })
	e.eventually("the group says so", func() (bool, any) {
		got := e.groupStatus("og").Namespaces
		return slices.Equal(got, []string{e.namespace}), got
	})
	e.carriesLabel(group, []string{e.namespace}, e.namespace, other)
}

// A group's new selection has to reach the webhooks that are live.
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
			e.labelNamespace(e.namespace, "test", e.namespace)
			e.labelNamespace(e.namespace, "test2", e.namespace)
			e.group("og", test.before(e.namespace))
			e.runDeployments()
			e.manage()
			e.install(csv("operator.v1", "server"))
			uid := e.registration("v.example.com").UID
			group := e.editGroup("og", func(g *operatorsv1.OperatorGroup) { g.Spec = test.after(e.namespace) })
			e.eventually("the registration selects anew", func() (bool, any) {
				got := e.registration("v.example.com").Webhooks[0].NamespaceSelector
				return gocmp.Equal(got, selectorOf(group)), got
			})
			if e.registration("v.example.com").UID != uid {
				t.Error("the registration was replaced: in between, the webhook was not called")
			}
			e.succeeds("operator.v1")
		})
	}
}

func isRegistration(write string) bool { return strings.Contains(write, "webhookconfigurations/") }
