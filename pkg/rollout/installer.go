package rollout

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// ByInstaller reports whether a step needs the permissions of the installer (see scope.Installer): what the author of the
// ClusterServiceVersion decides. The manager itself removes what is outside of the namespace, and maintains what the
// operator needs to keep working: it grants nothing by that.
func (s Step) ByInstaller(csv types.NamespacedName) bool {
	switch o := s.Object.(type) {
	case *corev1.Service:
		return true
	case *appsv1.Deployment, *corev1.Secret:
		return !s.OnlyTrusts()
	case *rbacv1.Role:
		return !grantsCondition(o, csv) && s.changesGrantBy(csv.Namespace)
	case *rbacv1.RoleBinding:
		return !bindsCondition(o, csv) && s.changesGrantBy(csv.Namespace)
	case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *policyv1.PodDisruptionBudget:
		return s.Verb != Delete
	case *apiextensionsv1.CustomResourceDefinition:
		return s.Desired != nil && !s.OnlyTrusts() // without a desired conversion, the step removes one
	case *unstructured.Unstructured:
		return !groupkind.Is(o, owners.OperatorConditions.GroupKind())
	default:
		return s.Registers() && !s.OnlyTrusts()
	}
}

// changesGrantBy is false for a revocation, which must not depend on a permission, and for a deletion in another namespace.
func (s Step) changesGrantBy(namespace string) bool {
	return s.Verb != Delete || s.Object.GetNamespace() == namespace && s.Drift.By != drift.ByAdmission
}

// As with OLM v0, the operator's access to its OperatorCondition is no permission of the installer.
func grantsCondition(role *rbacv1.Role, csv types.NamespacedName) bool {
	return role.Namespace == csv.Namespace && role.Name == csv.Name && len(role.Rules) == 1 && len(role.Rules[0].APIGroups) == 1 && role.Rules[0].APIGroups[0] == owners.OperatorConditions.Resource.Group
}

func bindsCondition(binding *rbacv1.RoleBinding, csv types.NamespacedName) bool {
	return binding.Namespace == csv.Namespace && binding.Name == csv.Name && binding.RoleRef.Name == csv.Name
}

// OnlyTrusts reports whether a step changes only a certificate: the caBundle of a live registration with the number of its
// generation, the content of a live Secret, or the annotations that restart pods. It may end an opening as well.
func (s Step) OnlyTrusts() bool {
	if _, secret := s.Object.(*corev1.Secret); secret {
		return s.Verb == Update // The name and the Service were decided when it was created.
	}
	if s.Live == nil || s.Desired == nil || s.Verb == Delete {
		return false
	}
	if live, ok := s.Live.(*appsv1.Deployment); ok {
		return sameAs(withRestartOf(s.Desired.(*appsv1.Deployment), live), live)
	}
	live := withoutOpening(s.Live, s.Desired)
	return (drift.IsRegistration(s.Live) || s.Verb == Convert) && sameAs(withTrustOf(s.Desired, live), live)
}

// withoutOpening returns a live registration as it was before its opening, if the desired one is closed.
func withoutOpening(live, desired drift.Object) drift.Object {
	if webhookconfig.OpenState(desired) != managerv1alpha1.FailOpenClosed {
		return live
	}
	return registration.WithOpening(live, desired)
}

func sameAs(desired, live drift.Object) bool {
	return drift.Compare(desired, live, drift.ExclusiveFields(desired)...).Drift().None()
}

// withRestartOf returns a desired Deployment with the annotations of the live one that restart its pods, and with the hash
// of the live spec, which includes them.
func withRestartOf(desired, live *appsv1.Deployment) *appsv1.Deployment {
	restarted := desired.DeepCopy()
	template := &restarted.Spec.Template
	for _, key := range restartAnnotations {
		delete(template.Annotations, key)
	}
	copyAnnotations(template, &live.Spec.Template, restartAnnotations...)
	restarted.Labels = labels.Merge(restarted.Labels, labels.Set{wellknown.LabelDeploymentHash: live.Labels[wellknown.LabelDeploymentHash]})
	return restarted
}

// withTrustOf returns a desired registration with the caBundle and the generation of the live one.
func withTrustOf(desired, live drift.Object) drift.Object {
	trusting := registration.WithBundle(desired, registration.BundleOf(live))
	if crd, ok := trusting.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = conversion.BundleOf(live.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion)
	}
	annotations := maps.Clone(trusting.GetAnnotations())
	delete(annotations, wellknown.AnnotationGeneration)
	trusting.SetAnnotations(annotations)
	copyAnnotations(trusting, live, wellknown.AnnotationGeneration)
	return trusting
}
