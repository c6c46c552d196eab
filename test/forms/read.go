package forms

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

var namespaced = []schema.GroupVersionResource{
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"},
	{Group: "operators.coreos.com", Version: "v2", Resource: "operatorconditions"},
	{Group: "olm-webhook-manager.io", Version: "v1alpha1", Resource: "webhookrollouts"},
}

var clusterScoped = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Read returns the objects of a ClusterServiceVersion, and the definitions that it converts.
func Read(ctx context.Context, client dynamic.Interface, namespace, csv string) (all []unstructured.Unstructured, err error) {
	for _, resource := range slices.Concat(namespaced, clusterScoped) {
		in, options := namespace, metav1.ListOptions{}
		if slices.Contains(clusterScoped, resource) {
			in, options.LabelSelector = metav1.NamespaceAll, wellknown.LabelOwnerNamespace+"="+namespace+","+wellknown.LabelOwner+"="+csv
		}
		list, err := client.Resource(resource).Namespace(in).List(ctx, options)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return !belongs(o, csv) })...)
	}
	converted, err := convertedBy(ctx, client, namespace)
	return append(all, converted...), err
}

// belongs reports whether an object is the ClusterServiceVersion or its WebhookRollout, or has the ClusterServiceVersion or
// its OperatorCondition as owner.
func belongs(o unstructured.Unstructured, csv string) bool {
	if o.GetName() == csv || o.GetLabels()[wellknown.LabelOwner] == csv {
		return true
	}
	return slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Name == csv })
}

// convertedBy returns the names and the conversions of the definitions that a Service of the namespace converts.
func convertedBy(ctx context.Context, client dynamic.Interface, namespace string) (all []unstructured.Unstructured, err error) {
	list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, crd := range list.Items {
		if in, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "service", "namespace"); in != namespace {
			continue
		}
		conversion, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "conversion")
		short := unstructured.Unstructured{Object: map[string]any{"kind": crd.GetKind(), "spec": map[string]any{"conversion": conversion}}}
		name, _, _ := strings.Cut(crd.GetName(), ".") // the group is that of a test
		short.SetName(name)
		short.SetAnnotations(crd.GetAnnotations())
		all = append(all, short)
	}
	return all, nil
}
