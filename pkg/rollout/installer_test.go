package rollout

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func TestByInstaller(t *testing.T) {
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	dynamic := func(apiVersion, kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	}
	role := func(namespace string, rule rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: in(namespace, "shop.v1"), Rules: []rbacv1.PolicyRule{rule}}
	}
	binding := func(namespace, name, role string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: in(namespace, name), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role}}
	}
	conditions := rbacv1.PolicyRule{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"operatorconditions"}, Verbs: []string{"get"}}
	webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: in("", "v")}
	api := &apiregistrationv1.APIService{ObjectMeta: in("", "v1.example.com")}
	for name, test := range map[string]struct {
		step Step
		want bool
	}{
		"a Deployment":                 {Step{Verb: Create, Object: &appsv1.Deployment{}}, true},
		"the deletion of a Deployment": {Step{Verb: Delete, Object: &appsv1.Deployment{}}, true},
		"a Service":                    {Step{Verb: Apply, Object: &corev1.Service{}}, true},
		"a Secret":                     {Step{Verb: Create, Object: &corev1.Secret{}}, true},
		"the next certificate":         {Step{Verb: Update, Object: &corev1.Secret{}}, false},
		"the deletion of a Secret":     {Step{Verb: Delete, Object: &corev1.Secret{}}, true},
		"a PodDisruptionBudget":        {Step{Verb: Create, Object: &policyv1.PodDisruptionBudget{}}, true},
		"the deletion of a budget":     {Step{Verb: Delete, Object: &policyv1.PodDisruptionBudget{}}, false},

		"a Role":                                         {Step{Verb: Create, Object: role("shop", installtest.ReadPods)}, true},
		"a lifted Role":                                  {Step{Verb: Create, Object: role("blue", installtest.ReadPods)}, true},
		"the deletion of a lifted Role":                  {Step{Verb: Delete, Object: role("blue", installtest.ReadPods)}, false},
		"a lifted Role with its name and rule":           {Step{Verb: Create, Object: role("blue", conditions)}, true},
		"the Role for the OperatorCondition":             {Step{Verb: Create, Object: role("shop", conditions)}, false},
		"a RoleBinding":                                  {Step{Verb: Create, Object: binding("shop", "cert", "cert")}, true},
		"the deletion of a RoleBinding":                  {Step{Verb: Delete, Object: binding("shop", "cert", "cert")}, true},
		"the revocation of a RoleBinding":                {Revocation(binding("shop", "cert", "cert"), "subjects"), false},
		"the RoleBinding for the OperatorCondition":      {Step{Verb: Create, Object: binding("shop", "shop.v1", "shop.v1")}, false},
		"a RoleBinding of its name in another namespace": {Step{Verb: Create, Object: binding("blue", "shop.v1", "shop.v1")}, true},
		"a RoleBinding of its name for another Role":     {Step{Verb: Create, Object: binding("shop", "shop.v1", "cert")}, true},
		"a ClusterRole":                                  {Step{Verb: Create, Object: &rbacv1.ClusterRole{}}, true},
		"a ClusterRoleBinding":                           {Step{Verb: Apply, Object: &rbacv1.ClusterRoleBinding{}}, true},
		"the deletion of a ClusterRoleBinding":           {Step{Verb: Delete, Object: &rbacv1.ClusterRoleBinding{}}, false},

		"a webhook configuration":                  {Step{Verb: Create, Object: webhooks, Desired: webhooks}, true},
		"the deletion of a webhook configuration":  {Step{Verb: Delete, Object: webhooks, Live: webhooks}, false},
		"an APIService":                            {Step{Verb: Create, Object: api, Desired: api}, true},
		"the end of a conversion":                  {EndConversionSteps([]*apiextensionsv1.CustomResourceDefinition{trustingCRD("ca")})[0], false},
		"the OperatorCondition":                    {Step{Verb: Create, Object: dynamic("operators.coreos.com/v2", "OperatorCondition")}, false},
		"a request for a certificate":              {Step{Verb: Apply, Object: dynamic("cert-manager.io/v1", "Certificate")}, true},
		"an annotation that re-syncs volumes":      {Step{Verb: ResyncVolumes, Object: &corev1.Pod{}}, false},
		"owner references":                         {Step{Verb: Patch, Object: &metav1.PartialObjectMetadata{}}, false},
		"annotations of the ClusterServiceVersion": {Step{Verb: Patch, Object: &operatorsv1alpha1.ClusterServiceVersion{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "it needs the installer", test.want, test.step.ByInstaller(types.NamespacedName{Namespace: "shop", Name: "shop.v1"}))
		})
	}
}

func trustingCRD(bundle string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", Annotations: map[string]string{wellknown.AnnotationGeneration: "1", "example.com/other": "kept"}},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Conversion: convertingBy("/convert", bundle)},
	}
}

func convertingBy(path, bundle string) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"},
		ClientConfig:             &apiextensionsv1.WebhookClientConfig{CABundle: []byte(bundle), Service: &apiextensionsv1.ServiceReference{Namespace: "shop", Name: "manager-service", Path: &path}},
	}}
}

// A rotation needs no permission of the installer, and everything else does.
func TestOnlyTrusts(t *testing.T) {
	conversion := func(path, bundle string) []Step {
		return []Step{conversionStep(trustingCRD("ca"), render.Conversion{Spec: *convertingBy(path, bundle), Generation: 2})}
	}
	registered := func(change func(*cluster)) []Step {
		c := installed(t, webhookOf("manager"))
		change(c)
		return c.next().Steps
	}
	deployed := func(change func(*cluster)) []Step {
		return slices.DeleteFunc(registered(change), func(s Step) bool { return s.Kind() != "Deployment" })
	}
	rotated := render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
	for name, test := range map[string]struct {
		steps []Step
		want  bool
	}{
		"the next CA": {registered(func(c *cluster) { c.trust = rotated }), true},
		"another path": {registered(func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
		}), false},
		"the next CA, and another field": {registered(func(c *cluster) {
			c.trust = rotated
			c.CSV.Spec.WebhookDefinitions[0].SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
		}), false},
		"a configuration that another client made": {registered(func(c *cluster) {
			c.validating("manager").Webhooks = append(c.validating("manager").Webhooks, admissionregistrationv1.ValidatingWebhook{Name: "other.example.com"})
		}), false},
		"a restart of the pods":                    {deployed(func(c *cluster) { c.trust.RestartedFor = "2" }), true},
		"another image":                            {deployed(useAnotherImage), false},
		"a restart of the pods, and another image": {deployed(func(c *cluster) { c.trust.RestartedFor = "2"; useAnotherImage(c) }), false},
		"a conversion: the next CA":                {conversion("/convert", "ca and the next"), true},
		"a conversion: another path":               {conversion("/other", "ca"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if len(test.steps) != 1 {
				t.Fatalf("not one step: %v", stepsOf(Plan{Steps: test.steps}))
			}
			installtest.Same(t, "it only trusts", test.want, test.steps[0].OnlyTrusts())
		})
	}
}

// While the installer may not change a registration, the manager still has it trust the next CA.
func TestTrustOfAForbiddenRegistration(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.trust = render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
	c.CSV.Spec.WebhookDefinitions[0].SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
	key := drift.KeyOf(c.validating("manager"))
	c.Observed.Refused[key], c.Observed.Forbidden = "it may not", map[string]string{key: "it may not"}
	plan := c.next()
	installtest.Same(t, "steps", []string{"update ValidatingWebhookConfiguration v.manager.example.com: webhooks.clientConfig.caBundle"}, stepsOf(plan))
	installtest.Same(t, "the step only trusts", true, plan.Steps[0].OnlyTrusts())
	installtest.Same(t, "the condition", "InstallerForbidden: it may not", conditionOf(plan, "InstallerForbidden"))
	c.Observed.Forbidden = nil
	installtest.Same(t, "steps while the API server refuses all", []string(nil), stepsOf(c.next()))
}

func useAnotherImage(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" }

// While the installer may not change a Deployment, the manager still gives its pods the next certificate.
func TestRestartOfAForbiddenDeployment(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	useAnotherImage(c)
	c.trust.RestartedFor = "2"
	key := drift.KeyOf(c.Observed.Deployments["manager"])
	c.Observed.Refused[key], c.Observed.Forbidden = "it may not", map[string]string{key: "it may not"}
	c.Secrets = map[string]*Step{"manager": nextSecretOf("manager")}
	plan := c.next()
	want := []string{"update Secret shop/manager-service-cert: data", "update Deployment shop/manager: spec.template.metadata.annotations"}
	installtest.Same(t, "steps", want, stepsOf(plan))
	for _, step := range plan.Steps {
		installtest.Same(t, step.Key()+" needs the installer", false, step.ByInstaller(types.NamespacedName{Namespace: "shop", Name: "shop.v1"}))
	}
	c.Observed.Forbidden = nil
	installtest.Same(t, "steps while the API server refuses all", want[:1], stepsOf(c.next()))
}

// While the installer may not change a conversion, the manager still has it trust the next CA.
func TestTrustOfAForbiddenConversion(t *testing.T) {
	c := convertingCluster(t, conversionWith([]byte("ca")))
	desired := conversionWith([]byte("ca and the next"))
	desired.Generation, desired.Spec.Webhook.ClientConfig.Service.Path = 2, new("/v2")
	key := crdKey(desired.CRD)
	c.Observed.Refused[key], c.Observed.Forbidden = "it may not", map[string]string{key: "it may not"}
	p := newPlanner(c.Input, c.now)
	p.plan.ensureConversions([]render.Conversion{desired})
	if len(p.plan.Steps) != 1 {
		t.Fatalf("not one step: %v", stepsOf(p.plan.Plan))
	}
	written := p.plan.Steps[0].Object.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion.Webhook.ClientConfig
	installtest.Same(t, "the caBundle", "ca and the next", string(written.CABundle))
	installtest.Same(t, "the path", "/convert", *written.Service.Path)
	installtest.Same(t, "it only trusts", true, p.plan.Steps[0].OnlyTrusts())
	c.Observed.Forbidden = nil
	installtest.Same(t, "the number of writes while the API server refuses all", 0, c.reconcileConversion(desired))
}
