package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/core"
	namespaces "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
)

// namespaceCheck is the admission plugin NamespaceLifecycle: an object is created only in a namespace that exists and is not
// being deleted. The other plugins of kube-apiserver are not simulated.
type namespaceCheck struct{}

var protectedNamespaces = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

func (namespaceCheck) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update || operation == admission.Delete
}

func (namespaceCheck) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetKind().GroupKind() == core.Kind("Namespace") {
		if a.GetOperation() == admission.Delete && protectedNamespaces[a.GetName()] {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), fmt.Errorf("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetNamespace() == "" || a.GetOperation() == admission.Delete {
		return nil
	}
	if a.GetResource().Group == "authorization.k8s.io" && a.GetResource().Resource == "localsubjectaccessreviews" {
		return nil
	}
	return accepted(ctx, a)
}

// namespaceStore is set by addCore.
var namespaceStore *namespaces.REST

func accepted(ctx context.Context, a admission.Attributes) error {
	object, err := namespaceStore.Get(ctx, a.GetNamespace(), &metav1.GetOptions{})
	if err != nil {
		return err
	}
	if a.GetOperation() != admission.Create || object.(*core.Namespace).Status.Phase != core.NamespaceTerminating {
		return nil
	}
	refused := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	if status, ok := refused.(apierrors.APIStatus); ok {
		details := status.Status().Details
		details.Causes = append(details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()), Field: "metadata.namespace",
		})
	}
	return refused
}
