package bundle

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

func TestScopesAreThoseOfTheAPIServer(t *testing.T) {
	e := newEnv(t)
	_, lists, err := e.kube.Discovery().ServerGroupsAndResources()
	must(t, err)
	c := newInstaller(t)
	kinds, namespaced := []schema.GroupKind{}, map[schema.GroupKind]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		for _, r := range list.APIResources {
			kind := schema.GroupKind{Group: version.Group, Kind: r.Kind}
			if strings.Contains(r.Name, "/") || strings.HasSuffix(kind.Group, ".example.com") {
				continue // a subresource, of another kind; or a definition of another test
			}
			if known := groupkind.ClusterScoped(kind); known == r.Namespaced {
				t.Errorf("%s: known as cluster-scoped: %t; the API server reports namespaced: %t", kind, known, r.Namespaced)
			}
			kinds, namespaced[kind] = append(kinds, kind), r.Namespaced
		}
	}
	answered, err := c.Scopes(t.Context(), append(kinds, schema.GroupKind{Group: "nobody.example.com", Kind: "Thing"}))
	must(t, err)
	for kind, want := range namespaced {
		if got, there := answered[kind]; !there || got != want {
			t.Errorf("%s: got %t, %t, want %t", kind, got, there, want)
		}
	}
	if len(answered) != len(namespaced) {
		t.Errorf("%d answers for %d kinds: a kind that no API server knows has none", len(answered), len(namespaced))
	}
}
