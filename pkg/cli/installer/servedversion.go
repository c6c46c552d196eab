package installer

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// inServedVersion returns an object in a version that the cluster serves. It returns nil for an object that was deleted
// with the definition of its kind, and an error if that is unknown.
func (a applier) inServedVersion(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind := o.GroupVersionKind()
	for _, versions := range [][]string{{kind.Version}, nil} {
		mapping, err := a.mapper.RESTMapping(kind.GroupKind(), versions...)
		if err == nil {
			o = o.DeepCopy()
			o.SetGroupVersionKind(mapping.GroupVersionKind)
			return o, nil
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	if err := a.checkUnserved(ctx, kind.GroupKind()); err != nil {
		return nil, fmt.Errorf("%s cannot be removed: %w", deploy.Title(o), err)
	}
	return nil, nil
}

// checkUnserved returns nil if a kind has no objects in the cluster. Discovery omits the kinds of
// an aggregated API server that does not answer, and definitions that serve no version.
func (a applier) checkUnserved(ctx context.Context, kind schema.GroupKind) error {
	_, _, err := a.discovery.ServerGroupsAndResources()
	failed, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !some {
		return err
	}
	for version, cause := range failed {
		if version.Group == kind.Group {
			return fmt.Errorf("the server of %s does not answer (%w): repair it, or delete APIService %s.%s if its objects no longer exist, and run the same command again", version, cause, version.Version, version.Group)
		}
	}
	crds, err := a.definitions.extensions.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, crd := range crds.Items {
		if kindOf(&crd) == kind && apihelpers.IsCRDConditionTrue(&crd, apiextensionsv1.Established) {
			return fmt.Errorf("CustomResourceDefinition %s serves no version: set served: true in it for one, and run the same command again", crd.Name)
		}
	}
	return nil
}
