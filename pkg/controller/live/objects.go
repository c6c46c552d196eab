package live

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// CountObjects counts the objects of definitions. If they cannot be listed, for example because their
// conversion fails, it assumes that there are some.
func (r *Reader) CountObjects(ctx context.Context, crds map[string]*apiextensionsv1.CustomResourceDefinition, unknown []string, objects map[string]int) {
	for _, name := range unknown {
		crd := crds[name]
		resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: storedversions.Readable(crd), Resource: crd.Spec.Names.Plural}
		list, err := r.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			r.Log.WithError(err).WithField("crd", name).Warn("cannot see whether there are objects")
		}
		switch {
		case err != nil, list.Continue != "" && list.RemainingItemCount == nil:
			objects[name] = conversion.SomeObjects
		case list.RemainingItemCount != nil:
			objects[name] = len(list.Items) + int(*list.RemainingItemCount)
		default:
			objects[name] = len(list.Items)
		}
	}
}
