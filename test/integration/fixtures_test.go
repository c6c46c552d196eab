package integration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// csv is a CSV in all install modes, with the given Deployments and a validating webhook on nothing behind the first.
func csv(name string, deployments ...string) *operatorsv1alpha1.ClusterServiceVersion {
	c := &operatorsv1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName: name,
			InstallModes: []operatorsv1alpha1.InstallMode{
				{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeSingleNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true},
			},
			InstallStrategy:    operatorsv1alpha1.NamedInstallStrategy{StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment},
			WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{webhook("v.example.com", deployments[0])},
		},
	}
	for _, d := range deployments {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec(d))
	}
	return c
}

func replacing(previous string, c *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.Replaces = previous
	return c
}

func deploymentSpec(name string) operatorsv1alpha1.StrategyDeploymentSpec {
	labels := map[string]string{"app": names.LabelValue(name)}
	return operatorsv1alpha1.StrategyDeploymentSpec{Name: name, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}},
		},
	}}
}

// webhook is a validating webhook that no request matches: the tests of this package have no endpoint.
func webhook(generateName, deployment string) operatorsv1alpha1.WebhookDescription {
	none, path := admissionregistrationv1.SideEffectClassNone, "/validate"
	return operatorsv1alpha1.WebhookDescription{
		GenerateName: generateName, Type: operatorsv1alpha1.ValidatingAdmissionWebhook, DeploymentName: deployment,
		ContainerPort: 443, WebhookPath: &path, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{rule([]string{"other.example.com"}, "things")},
	}
}

func rule(groups []string, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: resources},
	}
}

// bundle is a ClusterServiceVersion with one of everything: a Deployment that serves a validating and a mutating
// webhook, and one that serves none.
func bundle() *operatorsv1alpha1.ClusterServiceVersion {
	c := csv("operator.v1", "server", "operator")
	c.Annotations = map[string]string{"example.com/from": "the ClusterServiceVersion", "olm-webhook-manager.io/instruction": "not for pods"}
	mutating := webhook("m.example.com", "server")
	mutating.Type, mutating.ContainerPort = operatorsv1alpha1.MutatingAdmissionWebhook, 9443
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, mutating)
	server := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	server.Label = map[string]string{"example.com/author": "label"}
	server.Spec.Template.Annotations = map[string]string{"example.com/author": "annotation"}
	server.Spec.Template.Spec.ServiceAccountName = "server"
	server.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "AUTHOR", Value: "variable"}}
	return c
}

func container(c *operatorsv1alpha1.ClusterServiceVersion) *corev1.Container {
	return &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
}

var allNamespaces = operatorsv1.OperatorGroupSpec{}

func namespaces(names ...string) operatorsv1.OperatorGroupSpec {
	return operatorsv1.OperatorGroupSpec{TargetNamespaces: names}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
