package uninstall

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// EndConversions removes conversion webhooks from definitions. inUse names the definitions that stay, because
// their objects would lose fields.
func (u *Uninstaller) EndConversions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service, crds map[string]*apiextensionsv1.CustomResourceDefinition) (written []drift.Object, inUse string, err error) {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, name := range slices.Sorted(maps.Keys(crds)) {
		definitions = append(definitions, crds[name])
	}
	objects := map[string]int{}
	converters := owners.Converters(csv, services, definitions)
	for {
		end := conversion.EndAll(csv.Namespace, converters, definitions, objects, csv.Annotations[wellknown.AnnotationForceConversion] == "true")
		if len(end.Count) > 0 {
			u.Live.CountObjects(ctx, crds, end.Count, objects)
			continue
		}
		written, err = u.send(ctx, csv.Namespace, rollout.EndConversionSteps(end.CRDs))
		return written, end.InUse, err
	}
}
