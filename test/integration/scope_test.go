package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// What an OperatorGroup targets, on what its operators' webhooks are registered, and
// what is reported about it.
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

			if got, want := e.registration("v.example.com").Webhooks[0].NamespaceSelector, selectorOf(group); !gocmp.Equal(got, want) {
				t.Errorf("namespaceSelector %v, want %v", got, want)
			}
			e.eventually(fmt.Sprintf("status.namespaces of the group is %v", targets), func() (bool, any) {
				got := groupStatus(e, "og").Namespaces
				return slices.Equal(got, targets), got
			})
			carriesLabel(e, group, targets, e.namespace, other)
			annotations := map[string]string{"olm.operatorGroup": "og", "olm.operatorNamespace": e.namespace, "olm.targetNamespaces": strings.Join(targets, ",")}
			same(t, "annotations", e.get("operator.v1").Annotations, annotations)
		})
	}
}

// A Namespace that is not labelled yet would not be covered by a webhook that is live.
func TestScopeIsLabelledBeforeRegistration(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	proxy := proxy(e, nil)
	manageThrough(e, proxy.Config())
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
	runOperator(e)
	newNamespace(e, later, nil)
	carriesLabel(e, group, []string{later}, later)
}

func isRegistration(write string) bool { return strings.Contains(write, "webhookconfigurations") }
