package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// Choose creates or updates the Subscription of an operator, which has the name of its package, with the provider of its
// certificates and pairs of further annotations.
func Choose(ctx context.Context, client *olmclient.Client, namespace, operator, csv string, provider managerv1alpha1.CertificateProvider, more ...string) error {
	annotations := map[string]string{wellknown.AnnotationCertificateProvider: string(provider)}
	for i := 0; i < len(more); i += 2 {
		annotations[more[i]] = more[i+1]
	}
	subscriptions := client.Subscriptions(namespace)
	wanted := &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: operator},
		Spec: &operatorsv1alpha1.SubscriptionSpec{
			CatalogSource: "catalog", CatalogSourceNamespace: "olm", Package: operator, StartingCSV: csv,
			Config: &operatorsv1alpha1.SubscriptionConfig{Annotations: annotations},
		},
	}
	there, err := subscriptions.Get(ctx, operator, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = subscriptions.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	wanted.ResourceVersion = there.ResourceVersion
	_, err = subscriptions.Update(ctx, wanted, metav1.UpdateOptions{})
	return err
}

// Declare creates an object of cert-manager's.
func Declare(ctx context.Context, client dynamic.Interface, namespace string, resource schema.GroupVersionResource, kind, name string, spec map[string]any) error {
	_, err := client.Resource(resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	return err
}
