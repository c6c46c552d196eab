package owners

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Only what a version owns by its uid stays with it when another one is deleted.
func TestBackends(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
	csv.UID = "v1"
	other := csv.DeepCopy()
	other.Name, other.UID = "shop.v2", "v2"
	meta := func(name string, owners ...*operatorsv1alpha1.ClusterServiceVersion) metav1.ObjectMeta {
		m := csvspec.OwnedMeta(other, name)
		m.OwnerReferences = nil
		for _, owner := range owners {
			m.OwnerReferences = append(m.OwnerReferences, csvspec.OwnedMeta(owner, name).OwnerReferences...)
		}
		return m
	}
	for name, test := range map[string]struct {
		deployment, service metav1.ObjectMeta
		installed, serves   bool
	}{
		"shared by both versions":   {meta("manager", other, csv), meta("manager-service", other, csv), true, true},
		"the other version's alone": {meta("manager", other), meta("manager-service", other), false, false},
		"only the Deployment":       {meta("manager", other, csv), meta("manager-service", other), true, false},
		"only the Service":          {meta("manager", other), meta("manager-service", other, csv), false, false},
		"a Service of another name": {meta("manager", csv), meta(csvspec.AlternateServiceName(csv, "manager"), csv), true, true},
		"another Deployment":        {meta("server", csv), meta("manager-service", csv), false, false},
	} {
		backends := Backends{[]*appsv1.Deployment{{ObjectMeta: test.deployment}}, []*corev1.Service{{ObjectMeta: test.service}}}
		installtest.Same(t, name+": installed", test.installed, backends.Installed(csv))
		if got := backends.Serve(csv, "manager"); got != test.serves || backends.ServesAny(csv) != test.serves {
			t.Errorf("%s: serves: %t", name, got)
		}
	}
}
