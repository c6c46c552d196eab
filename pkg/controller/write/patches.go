package write

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

type patcher[T any] interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

// Metadata writes fields of the metadata of an object, unless it has changed since it was read.
func Metadata[T any](ctx context.Context, client patcher[T], o metav1.Object, fields map[string]any) (T, error) {
	return patch(ctx, client, o, wellknown.FieldManager, fields, nil)
}

func patch[T any](ctx context.Context, client patcher[T], o metav1.Object, manager string, metadata, parts map[string]any, subresources ...string) (written T, err error) {
	precondition := map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion()}
	maps.Copy(precondition, metadata)
	body := map[string]any{"metadata": precondition}
	maps.Copy(body, parts)
	data, err := json.Marshal(body)
	if err != nil {
		return written, err
	}
	return client.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager}, subresources...)
}

func (w *Writer) setOwnersOf(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	i := slices.IndexFunc(owners.Kinds, func(k owners.Kind) bool { return k.Name == o.Kind })
	if i < 0 {
		return fmt.Errorf("no way to write the owner references of a %s", o.Kind)
	}
	return w.SetOwners(ctx, owners.Kinds[i], o, o.OwnerReferences)
}

// SetOwners has its own field manager, so that writes of other fields do not remove the references.
func (w *Writer) SetOwners(ctx context.Context, k owners.Kind, o metav1.Object, references []metav1.OwnerReference) error {
	client := w.Metadata.Resource(k.Resource).Namespace(o.GetNamespace())
	_, err := patch(ctx, client, o, wellknown.FieldManagerOwnerReferences, map[string]any{"ownerReferences": references}, nil)
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}

func (w *Writer) patchCSV(ctx context.Context, step rollout.Step, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	annotations := map[string]any{}
	for name := range step.Live.GetAnnotations() {
		if _, stays := csv.Annotations[name]; !stays {
			annotations[name] = nil
		}
	}
	for name, value := range csv.Annotations {
		if current, ok := step.Live.GetAnnotations()[name]; !ok || current != value {
			annotations[name] = value
		}
	}
	return Metadata(ctx, w.OLM.ClusterServiceVersions(csv.Namespace), csv, map[string]any{
		"finalizers": csv.Finalizers, "annotations": annotations,
	})
}

// A kubelet re-syncs the volumes of a pod that changes. A conflict is such a change, too.
func (w *Writer) resyncVolumes(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	changed, err := Metadata(ctx, w.Kube.CoreV1().Pods(pod.Namespace), pod, map[string]any{
		"annotations": map[string]any{wellknown.AnnotationResyncedAt: w.Now().UTC().Format(time.RFC3339Nano)},
	})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return pod, nil
	}
	return changed, err
}

func (w *Writer) convert(ctx context.Context, live drift.Object, desired *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return patch(ctx, w.Extensions.ApiextensionsV1().CustomResourceDefinitions(), desired, wellknown.FieldManager,
		map[string]any{"annotations": annotationPatch(live.(*apiextensionsv1.CustomResourceDefinition), desired)},
		map[string]any{"spec": map[string]any{"conversion": conversionPatch(desired.Spec.Conversion)}})
}

func annotationPatch(live, desired *apiextensionsv1.CustomResourceDefinition) map[string]any {
	patch := map[string]any{wellknown.AnnotationGeneration: nil, wellknown.AnnotationPropagated: nil}
	for _, annotation := range conversion.Propagated(live) {
		patch[annotation] = nil
	}
	for annotation, value := range desired.Annotations {
		patch[annotation] = value
	}
	return patch
}

// A merge patch keeps fields that it does not name, and the API server refuses a URL together with a Service.
func conversionPatch(conversion *apiextensionsv1.CustomResourceConversion) map[string]any {
	if conversion.Webhook == nil {
		return map[string]any{"strategy": conversion.Strategy, "webhook": nil}
	}
	return map[string]any{"strategy": conversion.Strategy, "webhook": map[string]any{
		"conversionReviewVersions": conversion.Webhook.ConversionReviewVersions,
		"clientConfig": map[string]any{
			"url":      nil,
			"service":  conversion.Webhook.ClientConfig.Service,
			"caBundle": conversion.Webhook.ClientConfig.CABundle,
		},
	}}
}
