package groupkind

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterScoped are the kinds without a namespace: all of Kubernetes and of OLM, and those of
// OpenShift that OLM lets bundles have.
var clusterScoped = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
	"operators.coreos.com":         {"OLMConfig", "Operator"},
	"security.openshift.io":        {"SecurityContextConstraints"},
	"console.openshift.io":         {"ConsoleCLIDownload", "ConsoleExternalLogLink", "ConsoleLink", "ConsoleNotification", "ConsolePlugin", "ConsoleQuickStart", "ConsoleSample", "ConsoleYAMLSample"},
}

// ClusterScoped reports whether a kind is known to have no namespace.
func ClusterScoped(kind schema.GroupKind) bool {
	return slices.Contains(clusterScoped[kind.Group], kind.Kind)
}
