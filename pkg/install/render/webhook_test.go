package render

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Every default of the API server is written out.
func TestConfigurationsOfABareDescription(t *testing.T) {
	sideEffects := admissionregistrationv1.SideEffectClassNone
	bare := func(kind operatorsv1alpha1.WebhookAdmissionType, generateName string) operatorsv1alpha1.WebhookDescription {
		return installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
			d.Type, d.GenerateName, d.SideEffects = kind, generateName, &sideEffects
		})
	}
	d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), bare(installtest.Validating, "v.example.com"), bare(installtest.Mutating, "m.example.com"))))

	client := admissionregistrationv1.WebhookClientConfig{
		Service:  &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "manager-service", Port: new(int32(443))},
		CABundle: []byte("ca of manager"),
	}
	rules := []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"shop.example.com"}, []string{"orders"})}
	rules[0].Scope = new(admissionregistrationv1.AllScopes)
	wantValidating := []admissionregistrationv1.ValidatingWebhook{{
		Name: "v.example.com", ClientConfig: client, Rules: rules,
		FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		SideEffects: &sideEffects, TimeoutSeconds: new(int32(10)), AdmissionReviewVersions: []string{"v1"},
	}}
	wantMutating := []admissionregistrationv1.MutatingWebhook{{
		Name: "m.example.com", ClientConfig: client, Rules: rules,
		FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		SideEffects: &sideEffects, TimeoutSeconds: new(int32(10)), AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy: new(admissionregistrationv1.NeverReinvocationPolicy),
	}}
	installtest.Same(t, "validating", wantValidating, validatingOf(d.Webhooks[0]).Webhooks)
	installtest.Same(t, "mutating", wantMutating, mutatingOf(d.Webhooks[1]).Webhooks)
}

// What the author sets is copied unchanged.
func TestConfigurationOfAFullDescription(t *testing.T) {
	full := installtest.ServedBy("manager", onPort(8443, "https"), func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = installtest.Mutating, "m.example.com"
		d.WebhookPath = new("/mutate")
		d.Rules[0].Scope = new(admissionregistrationv1.NamespacedScope)
		d.FailurePolicy, d.MatchPolicy = new(admissionregistrationv1.Ignore), new(admissionregistrationv1.Exact)
		d.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"inject": "yes"}}
		d.SideEffects, d.TimeoutSeconds = new(admissionregistrationv1.SideEffectClassNoneOnDryRun), new(int32(3))
		d.AdmissionReviewVersions = []string{"v1", "v1beta1"}
		d.ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	})
	got := mutatingOf(rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), full))).Webhooks[0]).Webhooks
	want := []admissionregistrationv1.MutatingWebhook{{
		Name: "m.example.com",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "manager-service", Port: new(int32(8443)), Path: new("/mutate")},
			CABundle: []byte("ca of manager"),
		},
		Rules: full.Rules, FailurePolicy: full.FailurePolicy, MatchPolicy: full.MatchPolicy,
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: full.ObjectSelector,
		SideEffects: full.SideEffects, TimeoutSeconds: full.TimeoutSeconds, AdmissionReviewVersions: full.AdmissionReviewVersions,
		ReinvocationPolicy: full.ReinvocationPolicy,
	}}
	installtest.Same(t, "webhooks", want, got)
}

func TestConfigurationMetadata(t *testing.T) {
	in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
	got := validatingOf(rendered(t, in).Webhooks[0])

	installtest.Prefix(t, "the name", "v.shop.example.com-", got.Name)
	hash := got.Labels["olm.webhook-description-hash"]
	installtest.Same(t, "there is a hash of the description", true, hash != "")
	want := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{
			Name: got.Name, GenerateName: "v.shop.example.com-",
			Labels: map[string]string{
				"olm.managed": "true", "olm.owner": "shop.v1", "olm.owner.namespace": "shop", "olm.owner.kind": "ClusterServiceVersion",
				"olm.webhook-description-generate-name": "v.shop.example.com", "olm.webhook-description-hash": hash,
			},
			Annotations: map[string]string{"olm-webhook-manager.io/certificate-generation": "3"},
		},
		Webhooks: got.Webhooks,
	}
	installtest.Same(t, "configuration", want, got)
}

func TestConfigurationName(t *testing.T) {
	named := func(change func(*Input)) string {
		in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
		change(&in)
		return validatingOf(rendered(t, in).Webhooks[0]).Name
	}
	derived := named(func(*Input) {})
	for name, test := range map[string]struct {
		change func(*Input)
		stays  bool
	}{
		"the same again":          {func(*Input) {}, true},
		"another version's rules": {func(in *Input) { in.CSV.Spec.WebhookDefinitions[0].Rules = nil }, true},
		"another namespace":       {func(in *Input) { in.CSV.Namespace = "other" }, false},
		"another operator":        {func(in *Input) { in.CSV.Name = "other.v1" }, false},
		"one that another webhook has": {func(in *Input) {
			in.Configurations = map[csvspec.Identity]string{{Type: installtest.Mutating, GenerateName: "v.shop.example.com"}: "m"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) { installtest.Same(t, "the name stays", test.stays, named(test.change) == derived) })
	}
	t.Run("one that exists is kept", func(t *testing.T) {
		got := named(func(in *Input) {
			in.Configurations = map[csvspec.Identity]string{{Type: installtest.Validating, GenerateName: "v.shop.example.com"}: "v.shop.example.com-x7k2p"}
		})
		installtest.Same(t, "the name of the registration", "v.shop.example.com-x7k2p", got)
	})
}

// The label changes if and only if the description does.
func TestDescriptionHash(t *testing.T) {
	hash := func(change func(*Input)) string {
		in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
		change(&in)
		return validatingOf(rendered(t, in).Webhooks[0]).Labels["olm.webhook-description-hash"]
	}
	same := hash(func(*Input) {})
	installtest.Same(t, "the hash with another certificate", same, hash(func(in *Input) { in.Trust["manager"] = Trust{Generation: 9} }))
	changed := hash(func(in *Input) { in.CSV.Spec.WebhookDefinitions[0].TimeoutSeconds = new(int32(5)) })
	installtest.Same(t, "another timeout leaves the hash at "+same, false, changed == same)
}

// A Deployment without a certificate has no trust yet, and reports generation 0, which never overwrites another.
func TestConfigurationBeforeTheCertificate(t *testing.T) {
	in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
	delete(in.Trust, "manager")
	d := rendered(t, in)

	got := validatingOf(d.Webhooks[0])
	installtest.Same(t, "caBundle", "", string(got.Webhooks[0].ClientConfig.CABundle))
	installtest.Same(t, "the generation", "0", got.Annotations["olm-webhook-manager.io/certificate-generation"])
	installtest.Same(t, "the hash of a CA that does not exist", "", d.Object.Spec.Template.Annotations["olmcahash"])
}

func TestConversionIsNotRegisteredAsAdmission(t *testing.T) {
	conversion := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.Type = operatorsv1alpha1.ConversionWebhook })
	w := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), conversion))).Webhooks[0]
	installtest.Same(t, "the registration of a conversion webhook", nil, w.Registration)
}

func TestMatchConditions(t *testing.T) {
	for name, test := range map[string]struct {
		annotation string
		want       []string
	}{
		"none of the author's": {"", []string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads"}},
		"one, in YAML": {"v.shop.example.com:\n- name: not-mine\n  expression: request.userInfo.username != 'me'\n",
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "not-mine"}},
		"two, in JSON": {`{"v.shop.example.com": [{"name": "a", "expression": "true"}, {"name": "b", "expression": "true"}]}`,
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(installtest.Conditioned(test.annotation))
			in.Manager = installtest.ManagerUser
			got := lists.Map(validatingOf(rendered(t, in).Webhooks[0]).Webhooks[0].MatchConditions, func(c admissionregistrationv1.MatchCondition) string { return c.Name })
			installtest.Same(t, "conditions", test.want, got)
		})
	}
}
