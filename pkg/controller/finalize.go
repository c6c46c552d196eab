package controller

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// finalize takes the webhooks of a ClusterServiceVersion out of service, and then
// lets it go. Webhooks come first: once their backends go, they could refuse the
// rest. Namespaced objects follow by garbage collection.
//
// What to remove is asked of the API server, not of the caches: one that does not
// show yet what was just created would leave it behind for ever.
func (c *Controller) finalize(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	if !slices.Contains(csv.Finalizers, vocabulary.FinalizerCSV) {
		return nil
	}
	owned := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(install.OwnerLabels(csv)).String()}
	admission := c.kube.AdmissionregistrationV1()
	if err := admission.ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned); err != nil {
		return err
	}
	if err := admission.MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned); err != nil {
		return err
	}
	c.log.WithFields(key{csvKind, csv.Namespace, csv.Name}.fields()).Info("webhooks are unregistered")
	if csv.DeletionTimestamp == nil {
		return nil // its Namespace is terminating and will delete it
	}
	return c.release(ctx, csv)
}

func (c *Controller) release(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	rest := slices.DeleteFunc(slices.Clone(csv.Finalizers), func(f string) bool { return f == vocabulary.FinalizerCSV })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": csv.UID, "resourceVersion": csv.ResourceVersion, "finalizers": rest,
	}})
	if err != nil {
		return err
	}
	_, err = c.olm.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: vocabulary.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
