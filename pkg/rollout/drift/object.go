package drift

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// IsRegistration reports whether API servers must observe the object.
func IsRegistration(o Object) bool { return len(ExclusiveFields(o)) > 0 }

// Objects returns a list of objects of any type.
func Objects[T Object](list []T) []Object {
	return lists.Map(list, func(o T) Object { return o })
}

// KeyOf returns the name of an object for messages and maps: "Service operators/manager-service".
func KeyOf(o Object) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return KindOf(o) + " " + name
}

// KindOf returns the kind of an object. Objects from a cache have no kind.
func KindOf(o Object) string { return gvkOf(o).Kind }

func gvkOf(o Object) schema.GroupVersionKind {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		return o.GroupVersionKind()
	case *metav1.PartialObjectMetadata:
		return o.GroupVersionKind()
	case *operatorsv1alpha1.ClusterServiceVersion:
		return operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.ClusterServiceVersionKind)
	case *apiextensionsv1.CustomResourceDefinition:
		return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	case *apiregistrationv1.APIService:
		return apiregistrationv1.SchemeGroupVersion.WithKind("APIService")
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		panic(err) // every kind that is rolled out is built in
	}
	return kinds[0]
}

// ExclusiveFields returns the parts of an object in which other clients must not add fields.
func ExclusiveFields(o Object) []string {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return []string{".webhooks"}
	case *apiregistrationv1.APIService:
		return []string{".spec"}
	default:
		return nil
	}
}

// WithLiveReplicas keeps the live replicas of a Deployment, which an autoscaler or an administrator sets, until the
// ClusterServiceVersion changes them.
func WithLiveReplicas(live, desired Object) Object {
	d, ok := desired.(*appsv1.Deployment)
	if !ok || live.GetAnnotations()[wellknown.AnnotationReplicas] != d.Annotations[wellknown.AnnotationReplicas] {
		return desired
	}
	d = d.DeepCopy()
	d.Spec.Replicas = live.(*appsv1.Deployment).Spec.Replicas
	return d
}

// WithPrecondition makes a write fail if another manager has added trust since.
func WithPrecondition(desired, live Object) Object {
	if !IsRegistration(desired) {
		return desired
	}
	bound := desired.DeepCopyObject().(Object)
	bound.SetResourceVersion(live.GetResourceVersion())
	return bound
}

// NeedsUpdate reports whether an apply would refuse a list with duplicates, or keep fields of others. It is true for each
// Deployment: an update removes the fields of other clients. It is true for each PodDisruptionBudget, too: API servers refuse
// one with both limits.
func NeedsUpdate(desired Object, drift Drift) bool {
	_, deployment := desired.(*appsv1.Deployment)
	_, budget := desired.(*policyv1.PodDisruptionBudget)
	return deployment || budget || drift.KeptByApply || slices.ContainsFunc(drift.Extra, func(field string) bool {
		return slices.ContainsFunc(ExclusiveFields(desired), func(part string) bool { return strings.HasPrefix("."+field, part) })
	})
}
