package rollout

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// A CustomResourceDefinition is the bundle's, and so are its annotations. Those of the
// Subscription's config stand beside them, and one more annotation names them, so that
// they can be taken away again.

// annotated tells whether a definition bears the annotations of a conversion, and none
// of an earlier config's.
func annotated(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) bool {
	for annotation, value := range c.Annotations {
		if borne, ok := live.Annotations[annotation]; !ok || borne != value {
			return false
		}
	}
	return live.Annotations[vocabulary.AnnotationPropagated] == propagatedNames(c)
}

// propagate puts the annotations of a conversion on a definition.
func propagate(on *apiextensionsv1.CustomResourceDefinition, c install.Conversion) {
	if len(c.Annotations) > 0 {
		on.Annotations = merged(on.Annotations, c.Annotations)
		on.Annotations[vocabulary.AnnotationPropagated] = propagatedNames(c)
	}
}

func propagatedNames(c install.Conversion) string {
	return strings.Join(slices.Sorted(maps.Keys(c.Annotations)), ",")
}

// Propagated are the names of the annotations that a definition bears because of a
// Subscription's config.
func Propagated(live *apiextensionsv1.CustomResourceDefinition) []string {
	return strings.FieldsFunc(live.Annotations[vocabulary.AnnotationPropagated], func(r rune) bool { return r == ',' })
}
