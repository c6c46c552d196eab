package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

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

func provide(e *env, apis string) {
	e.Helper()
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Annotations = map[string]string{"olm.providedAPIs": apis} })
}

func tellsOf(e *env, apis string) {
	e.Helper()
	e.eventually("the group reports "+apis, func() (bool, any) {
		group := kube.Get(e, e.olm.OperatorGroups(e.namespace), "og")
		return group.Annotations["olm.providedAPIs"] == apis, group.Annotations
	})
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
