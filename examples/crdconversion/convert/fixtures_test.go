package convert_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func toV1(t *testing.T, v2 *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return converted(t, v2, convert.V1, convert.ToV1)
}

func toV2(t *testing.T, v1 *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return converted(t, v1, convert.V2, convert.ToV2)
}

// converted converts like a server: it copies the metadata first, and encodes the result.
func converted(t *testing.T, from *unstructured.Unstructured, version schema.GroupVersion, convert func(from, to *unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	to := &unstructured.Unstructured{Object: map[string]any{}}
	to.SetGroupVersionKind(version.WithKind("Cache"))
	to.Object["metadata"] = from.DeepCopy().Object["metadata"]
	installtest.Must(t, convert(from, to))
	return &unstructured.Unstructured{Object: throughJSON(t, to.Object)}
}

// throughJSON makes values equal that JSON does not distinguish, such as 1 and 1.0.
func throughJSON(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	installtest.Must(t, err)
	var back map[string]any
	installtest.Must(t, utiljson.Unmarshal(text, &back))
	return back
}

func cache(t *testing.T, version schema.GroupVersion, text string) *unstructured.Unstructured {
	t.Helper()
	object := map[string]any{}
	installtest.Must(t, yaml.Unmarshal([]byte(text), &object))
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{}
	}
	return cacheOf(t, version, object)
}

func cacheOf(t *testing.T, version schema.GroupVersion, object map[string]any) *unstructured.Unstructured {
	t.Helper()
	c := &unstructured.Unstructured{Object: throughJSON(t, object)}
	c.SetGroupVersionKind(version.WithKind("Cache"))
	return c
}
