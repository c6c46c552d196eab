// Package live reads from the API server what must not come from a cache.
package live

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// Reader reads from the API server what must not come from a cache.
type Reader struct {
	clients.Set
	Log *logrus.Entry
}

// Secret returns a Secret, or nil if it does not exist.
func (r *Reader) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	live, err := r.Kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// IssuedSecret returns the Secret of a Certificate of cert-manager; empty if that does not exist.
func (r *Reader) IssuedSecret(ctx context.Context, name types.NamespacedName) (string, error) {
	certificate, err := r.Dynamic.Resource(issuers.Certificates).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return "", utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	target, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return target, nil
}

// Pointers returns pointers to the items of a list.
func Pointers[T any](items []T) []*T {
	all := make([]*T, 0, len(items))
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

// UserName is the user name of the manager. Before 1.28 API servers do not report it: no webhook exempts it.
func UserName(ctx context.Context, kube kubernetes.Interface) (string, error) {
	review, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot see under which name the API server knows the manager: %w", err)
	default:
		return review.Status.UserInfo.Username, nil
	}
}

// OwnershipOf reads the API server for the proof of ownership, with the objects that InstallPlans created.
func (r *Reader) OwnershipOf(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (owners.Ownership, error) {
	current, err := r.OLM.WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return owners.Ownership{}, err
	}
	services, err := r.Services(ctx, csv.Namespace)
	if err != nil {
		return owners.Ownership{}, err
	}
	// A client returns an empty object together with an error.
	o := owners.NewOwnership([]*operatorsv1alpha1.ClusterServiceVersion{csv}, services, current)
	plans, err := r.OLM.InstallPlans(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		o.Planned = owners.InstallPlanObjects(csv, plans.Items)
	} else if !apierrors.IsNotFound(err) { // a cluster without OLM does not have the kind
		return o, err
	}
	return o, nil
}
