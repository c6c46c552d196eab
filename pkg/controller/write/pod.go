package write

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// resyncVolumes changes an annotation of a pod. A kubelet re-syncs the volumes of a pod that changes.
// A conflict means that another client has changed the pod.
func (w *Writer) resyncVolumes(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": map[string]any{wellknown.AnnotationResyncedAt: w.Now().UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return nil, err
	}
	changed, err := w.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return pod, nil
	}
	return changed, err
}
