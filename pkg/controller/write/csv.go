package write

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// patchCSV writes the finalizers and the annotations of a ClusterServiceVersion that differ, unless it
// has changed since it was read.
func (w *Writer) patchCSV(ctx context.Context, step rollout.Step, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	annotations := map[string]string{}
	for name, value := range csv.Annotations {
		if current, ok := step.Live.GetAnnotations()[name]; !ok || current != value {
			annotations[name] = value
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": csv.ResourceVersion, "finalizers": csv.Finalizers, "annotations": annotations,
	}})
	if err != nil {
		return nil, err
	}
	return w.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager})
}
