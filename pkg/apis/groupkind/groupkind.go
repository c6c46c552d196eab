// Package groupkind identifies kinds by group and name: another group may have a kind of the same name.
package groupkind

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds that the program treats in a special way.
var (
	Namespace                = schema.GroupKind{Kind: "Namespace"}
	ConfigMap                = schema.GroupKind{Kind: "ConfigMap"}
	Service                  = schema.GroupKind{Kind: "Service"}
	ReplicaSet               = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	ServiceAccount           = schema.GroupKind{Kind: "ServiceAccount"}
	CustomResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	ClusterServiceVersion    = schema.GroupKind{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"}
	OperatorGroup            = schema.GroupKind{Group: "operators.coreos.com", Kind: "OperatorGroup"}
	Subscription             = schema.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}
)

// Object is anything that states its kind.
type Object interface {
	GroupVersionKind() schema.GroupVersionKind
}

// Of returns the kind of an object, without its version.
func Of(o Object) schema.GroupKind { return o.GroupVersionKind().GroupKind() }

// Is reports whether an object is of a kind.
func Is(o Object, kind schema.GroupKind) bool { return Of(o) == kind }

// OfOwner returns the kind of an owner, without its version.
func OfOwner(owner metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() //nolint:forbidigo // With the group.
}

// IsOwner reports whether an owner is of a kind.
func IsOwner(owner metav1.OwnerReference, kind schema.GroupKind) bool { return OfOwner(owner) == kind }

// clusterScoped are all such kinds of Kubernetes and OLM, and those of OpenShift that OLM lets bundles have.
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
