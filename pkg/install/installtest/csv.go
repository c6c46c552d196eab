// Package installtest builds ClusterServiceVersions and what they refer to, for tests.
package installtest

import (
	"cmp"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Owning adds an owned APIService to a CSV.
func Owning(csv *operatorsv1alpha1.ClusterServiceVersion, kind, deployment string, port int32) *operatorsv1alpha1.ClusterServiceVersion {
	csv.Spec.APIServiceDefinitions.Owned = append(csv.Spec.APIServiceDefinitions.Owned, operatorsv1alpha1.APIServiceDescription{
		Group: "ponds.example.com", Version: "v1", Kind: kind, DeploymentName: deployment, ContainerPort: port,
	})
	return csv
}

// AccountOf returns a ServiceAccount that is owned by CSVs.
func AccountOf(name string, owners ...string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-of-shop"}}
	account.OwnerReferences = []metav1.OwnerReference{OwnerOf("ConfigMap", "irrelevant")}
	for _, owner := range owners {
		account.OwnerReferences = append(account.OwnerReferences, OwnerOf("ClusterServiceVersion", owner))
	}
	return account
}

// Conditioned returns a CSV with a webhook for pods and an annotation for its matchConditions.
func Conditioned(annotation string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := Operator(Deployments(DeploymentOf("manager")), ServedBy("manager", AboutRequests(admissionregistrationv1.Create, "", "pods")))
	csv.Annotations = map[string]string{"olm-webhook-manager.io/match-conditions": annotation}
	return csv
}

// Operator returns the CSV shop.v1 in the namespace shop.
func Operator(deployments []operatorsv1alpha1.StrategyDeploymentSpec, webhooks ...operatorsv1alpha1.WebhookDescription) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "uid-of-shop"}}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = deployments
	csv.Spec.WebhookDefinitions = webhooks
	return csv
}

// Deployments returns its arguments.
func Deployments(specs ...operatorsv1alpha1.StrategyDeploymentSpec) []operatorsv1alpha1.StrategyDeploymentSpec {
	return specs
}

// DeploymentOf returns a Deployment with one container, "manager".
func DeploymentOf(name string, changes ...func(*appsv1.DeploymentSpec)) operatorsv1alpha1.StrategyDeploymentSpec {
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

// ServedBy returns a validating webhook of a Deployment.
func ServedBy(deployment string, changes ...func(*operatorsv1alpha1.WebhookDescription)) operatorsv1alpha1.WebhookDescription {
	d := WebhookOf("v.shop.example.com", Validating, RuleOf([]string{"shop.example.com"}, []string{"orders"}))
	d.DeploymentName = deployment
	d.AdmissionReviewVersions = []string{"v1"}
	for _, change := range changes {
		change(&d)
	}
	return d
}

// ScopeOf returns a scope of all namespaces, unless a change sets target namespaces.
func ScopeOf(csv *operatorsv1alpha1.ClusterServiceVersion, group ...func(*operatorsv1.OperatorGroup)) scope.Scope {
	s := scope.Scope{Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: "group", UID: "uid-of-group"}}, Namespaces: []string{""}}
	for _, change := range group {
		change(s.Group)
		s.Namespaces = s.Group.Spec.TargetNamespaces
	}
	return s
}

// ServicesOf returns the usual names of the Services, by Deployment.
func ServicesOf(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	services := map[string]string{}
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		services[spec.Name] = names.Service(spec.Name)
	}
	return services
}

// Targeting sets the target namespaces of an OperatorGroup.
func Targeting(namespaces ...string) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) { group.Spec.TargetNamespaces = namespaces }
}

// The types of admission webhooks.
const (
	Validating = operatorsv1alpha1.ValidatingAdmissionWebhook
	Mutating   = operatorsv1alpha1.MutatingAdmissionWebhook
)

// WebhookOf returns a webhook with rules.
func WebhookOf(
	generateName string, kind operatorsv1alpha1.WebhookAdmissionType, rules ...admissionregistrationv1.RuleWithOperations,
) operatorsv1alpha1.WebhookDescription {
	return operatorsv1alpha1.WebhookDescription{GenerateName: generateName, Type: kind, Rules: rules}
}

// RuleOf returns a rule for groups and resources.
func RuleOf(groups, resources []string) admissionregistrationv1.RuleWithOperations {
	return RuleOn(groups, []string{"v1"}, resources)
}

// ManagerUser is the user name of the manager.
const ManagerUser = "system:serviceaccount:olm-webhook-manager:olm-webhook-manager"

// AboutRequests sets the only rule of a webhook.
func AboutRequests(operation admissionregistrationv1.OperationType, group string, resources ...string) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) {
		d.Rules = []admissionregistrationv1.RuleWithOperations{RuleOf([]string{group}, resources)}
		d.Rules[0].Operations = []admissionregistrationv1.OperationType{operation}
	}
}

// OfObjects sets the objectSelector of a webhook.
func OfObjects(selector metav1.LabelSelector) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.ObjectSelector = &selector }
}

// InScope sets the scope of the only rule of a webhook.
func InScope(s admissionregistrationv1.ScopeType) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.Rules[0].Scope = &s }
}

// RuleOn returns a rule for groups, versions and resources.
func RuleOn(groups, versions, resources []string, scope ...admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources},
	}
	if len(scope) > 0 {
		rule.Scope = &scope[0]
	}
	return rule
}

// The directories in which containers find their serving certificates.
const (
	WebhookCert = "/tmp/k8s-webhook-server/serving-certs"
	ServerCert  = "/apiserver.local.config/certificates"
)

// Secret returns a volume of a Secret.
func Secret(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
}

// OwnerOf returns an owner reference to an object of a kind, or of a kind of another group: Kind.group.
func OwnerOf(kind, name string) metav1.OwnerReference {
	versions := map[string]string{
		"ClusterServiceVersion": "operators.coreos.com/v1alpha1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
	}
	kind, group, _ := strings.Cut(kind, ".")
	version := cmp.Or(versions[kind], "v1")
	if group != "" {
		version = group + "/v1"
	}
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-of-" + name)}
}

var (
	// ReadPods grants access to all pods.
	ReadPods = Policy("pods", "get", "list")
	// ReadLeases grants access to one Lease.
	ReadLeases = rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"lock"}}
	// Everything grants all access to resources.
	Everything = rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	// ReadHealth grants access to a path.
	ReadHealth = rbacv1.PolicyRule{NonResourceURLs: []string{"/healthz"}, Verbs: []string{"get"}}
)

// Policy returns a rule of the core API group.
func Policy(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// Policies returns its arguments.
func Policies(all ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return all }

// Granted returns rules by namespace.
func Granted(namespace string, rules ...rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{namespace: rules}
}

// ListOf returns n names.
func ListOf(n int) []string {
	return Times(n, func(i int) string { return fmt.Sprintf("item%d", i) })
}
