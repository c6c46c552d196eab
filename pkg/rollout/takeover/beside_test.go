package takeover

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// What the manager writes again next to the Deployments is found. A missing object is none.
func TestRevertedBeside(t *testing.T) {
	const service, grant = "manager-service", "manager-service-cert"
	for name, test := range map[string]struct {
		change func(*Input, string) // the text is the name of the ClusterServiceVersion
		want   []string
	}{
		"nothing":      {func(*Input, string) {}, nil},
		"a label":      {func(in *Input, _ string) { in.Services[service].Labels = nil }, nil},
		"no object":    {func(in *Input, _ string) { in.Services, in.Roles, in.RoleBindings = nil, nil, nil }, nil},
		"a targetPort": {func(in *Input, _ string) { in.Services[service].Spec.Ports[0].TargetPort = intstr.FromInt32(9999) }, []string{service}},
		"another port": {func(in *Input, _ string) {
			s := in.Services[service]
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 8080, Protocol: corev1.ProtocolTCP})
		}, nil},
		"a rule":                          {func(in *Input, _ string) { in.Roles[grant].Rules[0].Verbs = []string{"*"} }, []string{grant}},
		"subjects":                        {func(in *Input, _ string) { in.RoleBindings[grant].Subjects = nil }, []string{grant}},
		"access to the OperatorCondition": {func(in *Input, csv string) { in.Roles[csv].Rules[0].Resources = []string{"operatorconditions"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop("")
			s.in.OperatorConditions = true
			desired := render.Objects(s.in.Input)
			d, c := desired.Deployments[0], desired.Condition
			s.in.Services = map[string]*corev1.Service{service: d.Service.DeepCopy()}
			s.in.Roles = map[string]*rbacv1.Role{grant: d.Role.DeepCopy(), s.csv.Name: c.Role.DeepCopy()}
			s.in.RoleBindings = map[string]*rbacv1.RoleBinding{grant: d.RoleBinding.DeepCopy(), s.csv.Name: c.RoleBinding.DeepCopy()}
			test.change(&s.in, s.csv.Name)
			installtest.Same(t, "objects", test.want, lists.Map(s.in.RevertedBeside(), func(d Difference) string { return d.Object.GetName() }))
		})
	}
}
