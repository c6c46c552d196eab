package lint

import (
	"slices"
	"testing"
)

// A namespaceSelector limits Namespaces, and not what lives in none: what is found for an
// operator of one namespace.
func TestBeyondOneNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		resources, operations, want []any
		scope                       string
	}{
		"new Namespaces":         {list("namespaces"), list("CREATE"), list("namespaces-unlabelled"), "Cluster"},
		"Namespaces there are":   {list("namespaces"), list("UPDATE", "DELETE"), nil, "*"},
		"states of Namespaces":   {list("namespaces/status"), list("*"), nil, "*"},
		"persistent volumes":     {list("persistentvolumes"), list("CREATE"), list("scope-escapes"), "*"},
		"pods":                   {list("pods"), list("CREATE"), nil, "*"},
		"everything":             {list("*"), list("UPDATE"), list("scope-escapes"), "*"},
		"everything, new":        {list("*"), list("CREATE"), list("namespaces-unlabelled", "scope-escapes"), "*"},
		"everything new, inside": {list("*"), list("CREATE"), nil, "Namespaced"},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../examples/projectpolicy/bundle")
			f.modes("OwnNamespace")
			f.rule()["apiGroups"], f.rule()["resources"], f.rule()["operations"], f.rule()["scope"] = list(""), c.resources, c.operations, c.scope
			var found []any
			for _, code := range codes(Run(inspect(t, f))) {
				if code == "scope-escapes" || code == "namespaces-unlabelled" {
					found = append(found, code)
				}
			}
			if !slices.Equal(found, c.want) {
				t.Errorf("found is %v, want %v", found, c.want)
			}
		})
	}
}
