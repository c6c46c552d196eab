package install

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// The operator of these tests is the ClusterServiceVersion shop.v1 in the namespace
// "shop", whose OperatorGroup covers all namespaces.
func operator(deployments []operatorsv1alpha1.StrategyDeploymentSpec, webhooks ...operatorsv1alpha1.WebhookDescription) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "uid-of-shop"}}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = deployments
	csv.Spec.WebhookDefinitions = webhooks
	return csv
}

func deployments(specs ...operatorsv1alpha1.StrategyDeploymentSpec) []operatorsv1alpha1.StrategyDeploymentSpec {
	return specs
}

// deploymentOf is a Deployment with one container, "manager".
func deploymentOf(name string, changes ...func(*appsv1.DeploymentSpec)) operatorsv1alpha1.StrategyDeploymentSpec {
	labels := map[string]string{"app": name}
	spec := appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "shop:1"}}},
		},
	}
	for _, change := range changes {
		change(&spec)
	}
	return operatorsv1alpha1.StrategyDeploymentSpec{Name: name, Spec: spec}
}

// servedBy is a validating webhook of a Deployment.
func servedBy(deployment string, changes ...func(*operatorsv1alpha1.WebhookDescription)) operatorsv1alpha1.WebhookDescription {
	d := webhookOf("v.shop.example.com", validating, ruleOf([]string{"shop.example.com"}, []string{"orders"}))
	d.DeploymentName = deployment
	d.AdmissionReviewVersions = []string{"v1"}
	for _, change := range changes {
		change(&d)
	}
	return d
}

// scopeOf is the scope of an operator whose OperatorGroup covers all namespaces, or what a change leaves.
func scopeOf(csv *operatorsv1alpha1.ClusterServiceVersion, group ...func(*operatorsv1.OperatorGroup)) scope.Scope {
	s := scope.Scope{Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: "group", UID: "uid-of-group"}}, Namespaces: []string{""}}
	for _, change := range group {
		change(s.Group)
		s.Namespaces = s.Group.Spec.TargetNamespaces
	}
	return s
}

// servicesOf are the usual names of the Services, by Deployment.
func servicesOf(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	services := map[string]string{}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		services[spec.Name] = names.Service(spec.Name)
	}
	return services
}

// inputOf is what Render is asked for a ClusterServiceVersion whose Services have
// their usual names and whose certificates are issued.
func inputOf(csv *operatorsv1alpha1.ClusterServiceVersion, group ...func(*operatorsv1.OperatorGroup)) Input {
	in := Input{CSV: csv, Scope: scopeOf(csv, group...), Services: servicesOf(csv), Trust: map[string]Trust{}}
	for name := range in.Services {
		if len(DescriptionsOf(csv, name)) > 0 {
			in.Trust[name] = Trust{CABundle: []byte("ca of " + name), CAHash: "hash-of-ca", Generation: 3}
		}
	}
	return in
}

// guarded is what Render is asked for an operator with one webhook, by a manager that runs in the cluster.
func guarded(d operatorsv1alpha1.WebhookDescription, group ...func(*operatorsv1.OperatorGroup)) Input {
	in := inputOf(operator(deployments(deploymentOf("manager")), d), group...)
	in.Manager = managerUser
	return in
}

// rendered is the only Deployment of an input, and what its webhooks need.
func rendered(t *testing.T, in Input) Deployment {
	t.Helper()
	desired := Render(in)
	if len(desired.Deployments) != 1 {
		t.Fatalf("%d Deployments are rendered, want 1", len(desired.Deployments))
	}
	return desired.Deployments[0]
}

func targeting(namespaces ...string) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) { group.Spec.TargetNamespaces = namespaces }
}
