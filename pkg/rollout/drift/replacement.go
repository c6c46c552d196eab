package drift

import (
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// Replacement returns the live object with the manager's fields, and nothing else in exclusive parts.
func Replacement(desired, live Object) Object {
	whole := live.DeepCopyObject().(Object)
	whole.SetManagedFields(nil) // the cache has some of them, the API server keeps all
	ours, _ := written(live)
	whole.SetLabels(labels.Merge(live.GetLabels(), desired.GetLabels()))
	whole.SetAnnotations(labels.Merge(annotationsOfOthers(live, ours), desired.GetAnnotations()))
	whole.SetOwnerReferences(withOwners(ownersOfOthers(live, ours), desired.GetOwnerReferences()))
	switch desired := desired.(type) {
	case *appsv1.Deployment:
		desired.Spec.DeepCopyInto(&whole.(*appsv1.Deployment).Spec)
	case *corev1.Service:
		service := whole.(*corev1.Service)
		service.Spec.Type, service.Spec.Selector = desired.Spec.Type, desired.Spec.Selector
		service.Spec.Ports = WithPorts(portsOfOthers(service, ours), desired.Spec.Ports)
	case *policyv1.PodDisruptionBudget:
		desired.Spec.DeepCopyInto(&whole.(*policyv1.PodDisruptionBudget).Spec)
	case *rbacv1.Role:
		whole.(*rbacv1.Role).Rules = desired.Rules
	case *rbacv1.RoleBinding:
		whole.(*rbacv1.RoleBinding).Subjects = desired.Subjects // the roleRef is immutable
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		whole.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks = desired.Webhooks
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		whole.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks = desired.Webhooks
	case *rbacv1.ClusterRoleBinding:
		whole.(*rbacv1.ClusterRoleBinding).Subjects = desired.Subjects
	case *apiregistrationv1.APIService:
		whole.(*apiregistrationv1.APIService).Spec = desired.Spec
	}
	return whole
}

func annotationsOfOthers(live Object, ours *fieldpath.Set) map[string]string {
	others := maps.Clone(live.GetAnnotations())
	maps.DeleteFunc(others, func(annotation, _ string) bool {
		return ours.Has(fieldpath.MakePathOrDie("metadata", "annotations", annotation))
	})
	return others
}

func ownersOfOthers(live Object, ours *fieldpath.Set) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(live.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		return ours.Has(fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(o.UID))))
	})
}

func portsOfOthers(live *corev1.Service, ours *fieldpath.Set) []corev1.ServicePort {
	return slices.DeleteFunc(slices.Clone(live.Spec.Ports), func(p corev1.ServicePort) bool {
		return ours.Has(fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", int64(p.Port), "protocol", string(p.Protocol))))
	})
}

// WithPorts returns the desired ports and those of others with another number.
func WithPorts(others, desired []corev1.ServicePort) []corev1.ServicePort {
	ports := slices.Clone(desired)
	for _, other := range others {
		if !slices.ContainsFunc(desired, func(p corev1.ServicePort) bool { return p.Port == other.Port && p.Protocol == other.Protocol }) {
			ports = append(ports, other)
		}
	}
	return ports
}

func withOwners(live, desired []metav1.OwnerReference) []metav1.OwnerReference {
	owners := slices.Clone(live)
	for _, wanted := range desired {
		owners = slices.DeleteFunc(owners, func(o metav1.OwnerReference) bool {
			return groupkind.IsOwner(o, groupkind.OfOwner(wanted)) && o.Name == wanted.Name
		})
		owners = append(owners, wanted)
	}
	return owners
}
