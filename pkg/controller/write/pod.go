package write

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

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
