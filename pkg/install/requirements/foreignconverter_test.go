package requirements

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

func TestServesFor(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Labels = map[string]string{"app": "manager", "part": "webhook"}
	for name, test := range map[string]struct {
		namespace, name string
		selector        map[string]string
		want            bool
	}{
		"a derived name":              {csv.Namespace, "manager-service", nil, true},
		"the other derived name":      {csv.Namespace, csvspec.AlternateServiceName(csv, "manager"), nil, true},
		"the bundle's own":            {csv.Namespace, "webhook-service", map[string]string{"app": "manager"}, true},
		"one that selects other pods": {csv.Namespace, "webhook-service", map[string]string{"app": "manager", "release": "helm"}, false},
		"one that selects no pods":    {csv.Namespace, "webhook-service", nil, false},
		"a name of another namespace": {"elsewhere", "manager-service", nil, false},
		"pods of another namespace":   {"elsewhere", "webhook-service", map[string]string{"app": "manager"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: test.name}, Spec: corev1.ServiceSpec{Selector: test.selector}}
			if got := owners.IsServiceOf(csv, service); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
