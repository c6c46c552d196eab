package installer

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scopes asks the API server which of these kinds are namespaced. A kind that it does not have is
// left out.
func (c *Installer) Scopes(kinds []schema.GroupKind) (map[schema.GroupKind]bool, error) {
	mapper := c.applier().mapper
	namespaced := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind)
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
