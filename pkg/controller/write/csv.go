package write

import (
	"context"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

func (w *Writer) patchCSV(ctx context.Context, step rollout.Step, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	annotations := map[string]string{}
	for name, value := range csv.Annotations {
		if current, ok := step.Live.GetAnnotations()[name]; !ok || current != value {
			annotations[name] = value
		}
	}
	return Metadata(ctx, w.OLM.ClusterServiceVersions(csv.Namespace), csv, map[string]any{
		"finalizers": csv.Finalizers, "annotations": annotations,
	})
}
