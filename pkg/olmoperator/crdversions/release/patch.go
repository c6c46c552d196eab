package release

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
)

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch returns a change as a JSON patch, because caches have no schemas and the list of versions is replaced as a whole
// by other patches. The API server answers with a conflict if the definition has changed since it was read.
func (c Change) Patch(crd *apiextensionsv1.CustomResourceDefinition) []byte {
	patch := []operation{
		{"test", "/metadata/uid", crd.UID},
		{"replace", "/metadata/resourceVersion", crd.ResourceVersion},
	}
	for i, v := range crd.Spec.Versions {
		path := "/spec/versions/" + strconv.Itoa(i)
		if slices.Contains(c.Serve, v.Name) {
			patch = append(patch, operation{"replace", path + "/served", true})
		}
		if c.Store != "" && (v.Storage || v.Name == c.Store) {
			patch = append(patch, operation{"replace", path + "/storage", setTo(v.Name == c.Store)})
		}
	}
	if c.Convert != nil {
		patch = append(patch, operation{"add", "/spec/conversion", c.Convert})
	}
	text, err := json.Marshal(append(patch, c.annotations(crd)...))
	if err != nil {
		panic(err) // these are values of JSON
	}
	return text
}

// setTo is a boolean that omitempty does not omit.
func setTo(value bool) any { return &value }

func (c Change) annotations(crd *apiextensionsv1.CustomResourceDefinition) []operation {
	left := c.Held.Annotations()
	var all []operation
	for _, name := range slices.Sorted(maps.Keys(heldversions.AnnotationsOf(crd))) {
		path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if value, kept := left[name]; kept {
			all = append(all, operation{"replace", path, value})
		} else {
			all = append(all, operation{Op: "remove", Path: path})
		}
	}
	return all
}
