package actors

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// EmptyNamespaces is one round of the controller of namespaces: it deletes the content of namespaces that are being deleted, and
// finalizes the empty ones. It returns how many namespaces remain to be deleted.
func (a *Actors) EmptyNamespaces(ctx context.Context) (remain int, err error) {
	kube, err := kubernetes.NewForConfig(a.config)
	if err != nil {
		return 0, err
	}
	all, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	var errs []error
	for i := range all.Items {
		n := &all.Items[i]
		if n.DeletionTimestamp == nil {
			continue
		}
		empty, err := a.empty(ctx, n.Name)
		errs = append(errs, err)
		if !empty {
			remain++
			continue
		}
		n.Spec.Finalizers = nil
		_, err = kube.CoreV1().Namespaces().Finalize(ctx, n, metav1.UpdateOptions{})
		errs = append(errs, err)
	}
	return remain, errors.Join(errs...)
}

// empty reports whether a namespace has no objects, and deletes its objects.
func (a *Actors) empty(ctx context.Context, namespace string) (bool, error) {
	all, err := a.list(ctx, namespace, func(r resource) bool { return r.namespaced })
	if err != nil {
		return false, err
	}
	var errs []error
	for _, o := range all {
		if o.DeletionTimestamp == nil {
			if err := a.delete(ctx, o, metav1.DeletePropagationBackground); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return len(all) == 0, errors.Join(errs...)
}
