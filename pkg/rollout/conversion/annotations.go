package conversion

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// The annotations of the bundle override those of the Subscription's config. One more annotation
// names the latter, so that they can be removed.

// HasAnnotations also requires that no annotation of a previous config remains.
func HasAnnotations(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	wanted := propagatedTo(live, c)
	for annotation, value := range wanted {
		if current, ok := live.Annotations[annotation]; !ok || current != value {
			return false
		}
	}
	return live.Annotations[wellknown.AnnotationPropagated] == namesOf(wanted)
}

// Propagate adds the annotations of a conversion to a definition.
func Propagate(on, live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) {
	if wanted := propagatedTo(live, c); len(wanted) > 0 {
		on.Annotations = labels.Merge(on.Annotations, wanted)
		on.Annotations[wellknown.AnnotationPropagated] = namesOf(wanted)
	}
}

func propagatedTo(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) map[string]string {
	wanted, before := map[string]string{}, Propagated(live)
	for annotation, value := range c.Annotations {
		if _, exists := live.Annotations[annotation]; !exists || slices.Contains(before, annotation) {
			wanted[annotation] = value
		}
	}
	return wanted
}

func namesOf(annotations map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(annotations)), ",")
}

// Propagated returns the names of the annotations that come from a Subscription's config.
func Propagated(live *apiextensionsv1.CustomResourceDefinition) []string {
	return strings.FieldsFunc(live.Annotations[wellknown.AnnotationPropagated], func(r rune) bool { return r == ',' })
}
