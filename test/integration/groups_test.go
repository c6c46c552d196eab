package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Without one scope that the operator supports nothing is registered, and the
// ClusterServiceVersion reports why; once there is one, it continues by itself.
func TestNoScope(t *testing.T) {
	for name, test := range map[string]struct {
		groups map[string]operatorsv1.OperatorGroupSpec
		modes  []operatorsv1alpha1.InstallModeType // all, when empty
		reason operatorsv1alpha1.ConditionReason
		fix    func(*env)
	}{
		"no group": {
			reason: operatorsv1alpha1.CSVReasonNoOperatorGroup,
			fix:    func(e *env) { e.group("og", allNamespaces) },
		},
		"two groups": {
			groups: map[string]operatorsv1.OperatorGroupSpec{"og": allNamespaces, "og2": allNamespaces},
			reason: operatorsv1alpha1.CSVReasonTooManyOperatorGroups,
			fix: func(e *env) {
				e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og2", metav1.DeleteOptions{}))
			},
		},
		"no namespace matched": {
			groups: map[string]operatorsv1.OperatorGroupSpec{"og": selecting("other.example.com/has", "this")},
			reason: operatorsv1alpha1.CSVReasonNoTargetNamespaces,
			fix: func(e *env) {
				editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = selecting("kubernetes.io/metadata.name", e.namespace) })
			},
		},
		"all namespaces not supported": {
			groups: map[string]operatorsv1.OperatorGroupSpec{"og": allNamespaces},
			modes:  []operatorsv1alpha1.InstallModeType{operatorsv1alpha1.InstallModeTypeOwnNamespace},
			reason: operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
			fix: func(e *env) {
				editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = namespaces(e.namespace) })
			},
		},
		"one namespace not supported": {
			groups: map[string]operatorsv1.OperatorGroupSpec{"og": namespaces("elsewhere")},
			modes:  []operatorsv1alpha1.InstallModeType{operatorsv1alpha1.InstallModeTypeAllNamespaces},
			reason: operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
			fix: func(e *env) {
				e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
					support(c, operatorsv1alpha1.InstallModeTypeSingleNamespace)
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			for name, spec := range test.groups {
				e.group(name, spec)
			}
			e.runDeployments()
			m := e.manage()
			c := csv("operator.v1", "server")
			if len(test.modes) > 0 {
				support(c, test.modes...)
			}
			e.create(c)
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, test.reason)
			m.looksAgain("operator.v1")
			registersNothing(e)
			same(t, "the operator's Deployment", e.deployment("server"), nil)
			test.fix(e)
			e.succeeds("operator.v1")
		})
	}
}

func support(c *operatorsv1alpha1.ClusterServiceVersion, modes ...operatorsv1alpha1.InstallModeType) {
	c.Spec.InstallModes = nil
	for _, mode := range modes {
		c.Spec.InstallModes = append(c.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: mode, Supported: true})
	}
}

func TestTwoGroupsSayThatTheyAreTwo(t *testing.T) {
	e := newGroupEnv(t)
	e.group("og2", allNamespaces)
	e.manage()
	for _, name := range []string{"og", "og2"} {
		e.eventually(name+" has a condition", func() (bool, any) {
			conditions := groupStatus(e, name).Conditions
			return len(conditions) == 1 && conditions[0].Type == operatorsv1.MutlipleOperatorGroupCondition &&
				conditions[0].Reason == operatorsv1.MultipleOperatorGroupsReason && conditions[0].Status == metav1.ConditionTrue, conditions
		})
	}
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og2", metav1.DeleteOptions{}))
	becomes(e, "og has no condition any more", func() []metav1.Condition { return groupStatus(e, "og").Conditions }, nil)
}

// An installed operator whose group is deleted keeps its webhooks as they are: to take them
// away would let through what they have to stop.
func TestGroupIsDeleted(t *testing.T) {
	e := newParallelEnv(t)
	group := e.group("og", namespaces(e.namespace))
	e.runDeployments()
	m := runOperator(e)
	before := e.registration("v.example.com").ResourceVersion
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup)
	m.looksAgain("operator.v1")
	same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
	carriesLabel(e, group, []string{e.namespace}, e.namespace)

	again := e.group("og", namespaces(e.namespace))
	e.succeeds("operator.v1")
	carriesLabel(e, again, []string{e.namespace}, e.namespace)
	becomes(e, "the registration selects by the label of the new group", func() *metav1.LabelSelector { return selected(e) }, selectorOf(again))
}

func TestProvidedAPIs(t *testing.T) {
	for name, test := range map[string]struct {
		static           bool
		installed, after string
	}{
		"reported by the manager":       {false, "Pond.v1.", ""},
		"reported by the administrator": {true, "Lake.v1.example.com,Pond.v1.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", operatorsv1.OperatorGroupSpec{StaticProvidedAPIs: test.static})
			test.installed += e.namespace + ".example.com"
			if test.static {
				test.after = test.installed
				provide(e, test.installed)
			}
			e.runDeployments()
			e.manage()
			define(e, e.namespace+".example.com", "v1")
			c := csv("operator.v1", "server")
			c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + e.namespace + ".example.com", Version: "v1", Kind: "Pond"}}
			e.install(c)
			tellsOf(e, test.installed)
			e.uninstall("operator.v1")
			tellsOf(e, test.after)
		})
	}
}

// An operator that conflicts with an operator of another group is never among the APIs of its own.
func TestProvidedAPIsOfAConflict(t *testing.T) {
	e := newParallelEnv(t)
	other := neighbour(e)
	e.group("og", namespaces(e.namespace, other.namespace))
	other.group("og", namespaces(other.namespace))
	e.runDeployments()
	e.manage(func(o *controller.Options) { o.Namespaces = []string{e.namespace, other.namespace} })
	define(e, e.namespace+".example.com", "v1")
	owning := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
		c := csv(name, "server")
		c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "ponds." + e.namespace + ".example.com", Version: "v1", Kind: "Pond"}}
		return c
	}
	e.install(owning("operator.v1"))
	tellsOf(e, "Pond.v1."+e.namespace+".example.com")
	other.create(owning("operator.v1"))
	other.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict)
	_, annotated := kube.Get(e, e.olm.OperatorGroups(other.namespace), "og").Annotations["olm.providedAPIs"]
	same(t, "the group with the conflict has had APIs", annotated, false)
}

func provide(e *env, apis string) {
	e.Helper()
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Annotations = map[string]string{"olm.providedAPIs": apis} })
}

func tellsOf(e *env, apis string) {
	e.Helper()
	becomes(e, "the group reports "+apis, func() string {
		return kube.Get(e, e.olm.OperatorGroups(e.namespace), "og").Annotations["olm.providedAPIs"]
	}, apis)
}

func TestServiceAccountOfAGroup(t *testing.T) {
	e := newParallelEnv(t)
	e.manage()
	e.group("og", operatorsv1.OperatorGroupSpec{ServiceAccountName: "installer"})
	e.eventually("the group misses its account", func() (bool, any) {
		c := conditionIn(groupStatus(e, "og").Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
		return c.Status == metav1.ConditionTrue && c.Reason == "ServiceAccountNotFound", c
	})
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "installer"}})
	e.eventually("the group has its account", func() (bool, any) {
		s := groupStatus(e, "og")
		missing := conditionIn(s.Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
		return missing.Type == "" && s.ServiceAccountRef != nil && s.ServiceAccountRef.Name == "installer", s
	})
}
