package drift

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// IsRegistration tells the kinds of which API servers have to learn, so that it matters to
// the instant when an object was created.
func IsRegistration(o Object) bool { return len(ExclusiveFields(o)) > 0 }

// KeyOf names an object for people and for maps: "Service operators/manager-service".
func KeyOf(o Object) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return KindOf(o) + " " + name
}

// KindOf is the kind of an object, which objects from a cache do not say themselves.
func KindOf(o Object) string {
	if foreign, ok := o.(*unstructured.Unstructured); ok {
		return foreign.GetKind()
	}
	return gvkOf(o).Kind
}

// gvkOf is the version and kind of an object, by its Go type.
func gvkOf(o Object) schema.GroupVersionKind {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		return o.GroupVersionKind()
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

// ExclusiveFields are the parts of an object where no other client has anything to add.
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

// WithLiveReplicas is a desired object with the number of replicas that it is to have now.
func WithLiveReplicas(live, desired Object) Object {
	if deployment, ok := desired.(*appsv1.Deployment); ok {
		return scaled(deployment, live.(*appsv1.Deployment))
	}
	return desired
}

// WithPrecondition is a desired object that can be applied over the live one as it was seen, and
// over no other, where it takes trust away: whoever sees more may have added some.
func WithPrecondition(desired, live Object) Object {
	if len(ExclusiveFields(desired)) == 0 {
		return desired
	}
	bound := desired.DeepCopyObject().(Object)
	bound.SetResourceVersion(live.GetResourceVersion())
	return bound
}

// NeedsUpdate tells where a write has to replace. Bundles list a port or a
// variable twice in their Deployments, which apply refuses and update accepts; and
// a field that another client added, or that the manager did not apply, stays under apply.
func NeedsUpdate(desired Object, drift Drift) bool {
	_, deployment := desired.(*appsv1.Deployment)
	return deployment || drift.Stuck || slices.ContainsFunc(drift.Strays, func(stray string) bool {
		return slices.ContainsFunc(ExclusiveFields(desired), func(part string) bool { return strings.HasPrefix("."+stray, part) })
	})
}
