package takeover

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

const definition = "orders.shop.io"

// convertedAs returns a definition with the conversion that one of the webhooks is for.
func convertedAs(webhooks []render.Webhook, name string) *apiextensionsv1.CustomResourceDefinition {
	for _, w := range webhooks {
		for _, c := range w.Conversions {
			return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: c.Spec.DeepCopy()}}
		}
	}
	return nil
}

// What the manager writes again next to the Deployments is found. A missing object is none.
func TestRevertedBeside(t *testing.T) {
	const service, grant, delegator, reader = "manager-service", "manager-service-cert", "manager-service-system:auth-delegator", "manager-service-auth-reader"
	conversionOf := func(in *Input) *apiextensionsv1.CustomResourceConversion {
		return in.Definitions[definition].Spec.Conversion
	}
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
		"a rule":   {func(in *Input, _ string) { in.Roles[grant].Rules[0].Verbs = []string{"*"} }, []string{grant}},
		"subjects": {func(in *Input, _ string) { in.RoleBindings[grant].Subjects = nil }, []string{grant}},
		"the access to the OperatorCondition that olm-operator grants": {func(in *Input, csv string) { in.Roles[csv].Rules[0].Resources = []string{"operatorconditions"} }, nil},
		"subjects as olm-operator writes them": {func(in *Input, csv string) {
			account := in.RoleBindings[csv].Subjects[0]
			account.Namespace = ""
			in.RoleBindings[csv].Subjects = []rbacv1.Subject{account, account}
		}, nil},
		"more access to the OperatorCondition":            {func(in *Input, csv string) { in.Roles[csv].Rules[0].Verbs = []string{"*"} }, []string{"shop.v1"}},
		"subjects of the access to the OperatorCondition": {func(in *Input, csv string) { in.RoleBindings[csv].Subjects = nil }, []string{"shop.v1"}},
		"the account that delegates authentication":       {func(in *Input, _ string) { in.ClusterRoleBindings[delegator].Subjects = nil }, []string{delegator}},
		"the account that reads the CA of clients":        {func(in *Input, _ string) { in.AuthReaders[reader].Subjects[0].Name = "other" }, []string{reader}},
		"bindings for other APIServices":                  {func(in *Input, _ string) { in.ClusterRoleBindings, in.AuthReaders = nil, nil }, nil},
		"another path of a conversion":                    {func(in *Input, _ string) { conversionOf(in).Webhook.ClientConfig.Service.Path = new("/other") }, []string{definition}},
		"another trust of a conversion":                   {func(in *Input, _ string) { conversionOf(in).Webhook.ClientConfig.CABundle = []byte("other") }, nil},
		"no conversion": {func(in *Input, _ string) {
			*conversionOf(in) = apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		}, []string{definition}},
		"no definition": {func(in *Input, _ string) { in.Definitions = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop("")
			s.in.OperatorConditions = true
			d0 := *s.csv.Spec.WebhookDefinitions[0].DeepCopy()
			d0.Type, d0.GenerateName, d0.ConversionCRDs = operatorsv1alpha1.ConversionWebhook, "convert.shop.io", []string{definition}
			s.csv.Spec.WebhookDefinitions = append(s.csv.Spec.WebhookDefinitions, d0)
			s.csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "shop.io", Version: "v1", Kind: "Order", DeploymentName: "manager"}}
			s.in.Delegations = map[string]permissions.Delegation{"manager": permissions.UsualDelegation(service)}
			desired := render.Objects(s.in.Input)
			d, c := desired.Deployments[0], desired.Condition
			s.in.Services = map[string]*corev1.Service{service: d.Service.DeepCopy()}
			s.in.Roles = map[string]*rbacv1.Role{grant: d.Role.DeepCopy(), s.csv.Name: c.Role.DeepCopy()}
			s.in.RoleBindings = map[string]*rbacv1.RoleBinding{grant: d.RoleBinding.DeepCopy(), s.csv.Name: c.RoleBinding.DeepCopy()}
			s.in.ClusterRoleBindings = map[string]*rbacv1.ClusterRoleBinding{delegator: d.AuthDelegator.DeepCopy()}
			s.in.AuthReaders = map[string]*rbacv1.RoleBinding{reader: d.AuthReader.DeepCopy()}
			s.in.Definitions = map[string]*apiextensionsv1.CustomResourceDefinition{definition: convertedAs(d.Webhooks, definition)}
			test.change(&s.in, s.csv.Name)
			installtest.Same(t, "objects", test.want, lists.Map(s.in.RevertedBeside(), func(d Difference) string { return d.Object.GetName() }))
		})
	}
}

// The objects next to a Deployment in another form get the manager's metadata, too.
func TestManagersBeside(t *testing.T) {
	const service, grant = "manager-service", "manager-service-cert"
	for name, test := range map[string]struct {
		change func(*Input)
		want   []string
	}{
		"the manager's form": {func(*Input) {}, nil},
		"labels": {func(in *Input) {
			in.Services[service].Labels, in.Roles[grant].Labels, in.RoleBindings[grant].Labels = nil, nil, nil
		}, []string{service, grant, grant}},
		"a rule":     {func(in *Input) { in.Roles[grant].Rules = nil }, []string{grant}},
		"no objects": {func(in *Input) { in.Services, in.Roles, in.RoleBindings = nil, nil, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := webhookShop("")
			d := render.Objects(s.in.Input).Deployments[0]
			s.in.Services = map[string]*corev1.Service{service: d.Service.DeepCopy()}
			s.in.Roles = map[string]*rbacv1.Role{grant: d.Role.DeepCopy()}
			s.in.RoleBindings = map[string]*rbacv1.RoleBinding{grant: d.RoleBinding.DeepCopy()}
			test.change(&s.in)
			installtest.Same(t, "objects", test.want, lists.Map(s.in.ManagersBeside("manager"), func(d Difference) string { return d.Object.GetName() }))
			installtest.None(t, "objects of another Deployment", s.in.ManagersBeside("other"))
		})
	}
}
