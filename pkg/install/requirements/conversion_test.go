package requirements

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

func convertingCSV() *operatorsv1alpha1.ClusterServiceVersion {
	return &operatorsv1alpha1.ClusterServiceVersion{Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
		InstallModes: []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}},
		CustomResourceDefinitions: operatorsv1alpha1.CustomResourceDefinitions{
			Owned: []operatorsv1alpha1.CRDDescription{{Name: "a.example.com", Version: "v1"}, {Name: "b.example.com", Version: "v1"}},
		},
		WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{
			{GenerateName: "ca", Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{"a.example.com"}},
			{GenerateName: "cb", Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{"b.example.com"}},
		},
	}}
}

func TestConversionViolations(t *testing.T) {
	tests := map[string]struct {
		change func(*operatorsv1alpha1.ClusterServiceVersionSpec)
		want   string
	}{
		"none": {func(*operatorsv1alpha1.ClusterServiceVersionSpec) {}, ""},
		"narrower install mode": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.InstallModes = append(s.InstallModes, operatorsv1alpha1.InstallMode{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true})
		}, "spec.installModes supports OwnNamespace"},
		"one definition twice": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.WebhookDefinitions[1].ConversionCRDs = []string{"a.example.com"}
		}, "for a.example.com, and so is [0]"},
		"no definition": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.WebhookDefinitions[0].ConversionCRDs = nil
		}, "without conversionCRDs"},
		"not owned": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.WebhookDefinitions[0].ConversionCRDs = []string{"c.example.com"}
		}, "for c.example.com, which spec.customresourcedefinitions.owned does not list"},
		"of the manager": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.WebhookDefinitions[0].ConversionCRDs = []string{"webhookrollouts.olm-webhook-manager.io"}
		}, "could control the manager itself"},
		"of OLM, in capitals": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.WebhookDefinitions[0].ConversionCRDs = []string{"operatorgroups.Operators.CoreOS.com"}
		}, "could control the manager itself"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csv := convertingCSV()
			test.change(&csv.Spec)
			installtest.Says(t, "the problem", test.want, Verdict{Violations: conversionViolations(csv)}.Invalid())
		})
	}
}

func TestConvertibleCRDs(t *testing.T) {
	crd := func(preserve bool, service string) *apiextensionsv1.CustomResourceDefinition {
		c := installtest.Definition("a.example.com")
		c.Spec.PreserveUnknownFields = preserve
		if service != "" {
			c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "ns", Name: service}},
			}}
		}
		return c
	}
	tests := map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want string
	}{
		"absent":                   {nil, "CRD is not present"},
		"present":                  {crd(false, ""), ""},
		"preserves unknown fields": {crd(true, ""), "set it to false"},
		"converted by this one":    {crd(false, "ours"), ""},
		"converted by another":     {crd(false, "theirs"), "is converted by service ns/theirs of another ClusterServiceVersion"},
		"converted by no version":  {crd(false, "helms"), "is converted by Service ns/helms, which does not belong to this ClusterServiceVersion: uninstall what the Service belongs to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csv := convertingCSV()
			csv.Spec.WebhookDefinitions, csv.Spec.CustomResourceDefinitions.Owned = csv.Spec.WebhookDefinitions[:1], csv.Spec.CustomResourceDefinitions.Owned[:1]
			csv.Spec.WebhookDefinitions[0].DeploymentName = "manager"
			csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = installtest.Deployments(installtest.DeploymentOf("manager"))
			facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}, Converters: map[string]bool{"ns/theirs": true}}
			if _, service := owners.ConvertedBy(cmp.Or(test.crd, crd(false, ""))); service == "helms" {
				facts.ConvertedByOthers = map[string]bool{"a.example.com": true}
			}
			if test.crd != nil {
				facts.CRDs["a.example.com"] = test.crd
			}
			installtest.Says(t, "unmet", test.want, Check(facts).Unmet())
		})
	}
}

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
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: test.name}, Spec: corev1.ServiceSpec{Selector: test.selector}}
		installtest.Same(t, name+": is the Service", test.want, owners.IsServiceOf(csv, service))
	}
}
