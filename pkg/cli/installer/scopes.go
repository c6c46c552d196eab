package installer

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scopes asks the API server which of these kinds are namespaced. It omits unknown kinds.
func (c *Installer) Scopes(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]bool, error) {
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	namespaced := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		mapping, err := a.mapper.RESTMapping(kind)
		switch {
		case meta.IsNoMatchError(err):
		case err != nil:
			return nil, err
		default:
			namespaced[kind] = mapping.Scope.Name() == meta.RESTScopeNameNamespace
		}
	}
	return namespaced, nil
}
