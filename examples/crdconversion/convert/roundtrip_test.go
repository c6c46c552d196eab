package convert_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRoundTripOfRandomCaches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 { // FuzzRoundTrip tries more
		expectRoundTrip(t, randomValues(random, v1Names, 3))
		expectRoundTrip(t, randomValues(random, v2Names, 4))
		if t.Failed() {
			return
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, spec := range []string{
		`{"size":"3x512Mi","port":6379,"tlsSecret":"cert","evict":"lru","debug":true}`,
		`{"replicas":3,"resources":{"memory":"512Mi","cpu":0.5},"network":{"port":6379,"tls":{"secretName":"cert","minVersion":"1.3"}},"eviction":{"policy":"Random"},"zones":["a"]}`,
		`{"size":"-0x","network":{"tls":null},"replicas":-1,"resources":[],"":{"":{}}}`,
	} {
		f.Add([]byte(spec))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var spec map[string]any
		if json.Unmarshal(text, &spec) != nil || spec == nil {
			t.Skip("no object")
		}
		expectRoundTrip(t, throughJSON(t, spec))
	})
}

// expectRoundTrip converts the spec as v1 and as v2. The annotation has the values that the schema refuses.
func expectRoundTrip(t *testing.T, spec map[string]any) {
	t.Helper()
	metadata := map[string]any{"name": "c", "annotations": map[string]any{"mine": "stays"}}
	object := map[string]any{"spec": spec, "metadata": metadata, "status": map[string]any{"memory": "1Gi"}}
	v1 := cacheOf(t, convert.V1, object)
	expectSame(t, v1, complete(t, toV1(t, toV2(t, v1)), convert.V1Annotation, convert.AllowedInV1(v1.Object["spec"])))
	v2 := cacheOf(t, convert.V2, object)
	expectSame(t, v2, complete(t, toV2(t, toV1(t, v2)), convert.V2Annotation, convert.AllowedInV2(v2.Object["spec"])))
}

func complete(t *testing.T, c *unstructured.Unstructured, annotation string, valid bool) *unstructured.Unstructured {
	t.Helper()
	annotations := c.GetAnnotations()
	text, exists := annotations[annotation]
	if valid || !exists {
		return c
	}
	var rest map[string]any
	installtest.Must(t, json.Unmarshal([]byte(text), &rest))
	delete(annotations, annotation)
	c.SetAnnotations(annotations)
	merge(c.Object["spec"].(map[string]any), rest)
	return c
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, both := into[key].(map[string]any)
		other, ok := value.(map[string]any)
		if both && ok {
			merge(inner, other)
		} else {
			into[key] = value
		}
	}
}

func expectSame(t *testing.T, went, came *unstructured.Unstructured) {
	t.Helper()
	if !reflect.DeepEqual(went.Object, came.Object) { // cmp.Diff is slow
		t.Errorf("there and back (-went +came):\n%s", cmp.Diff(went.Object, came.Object))
	}
}

var (
	v1Names = []string{"size", "port", "tlsSecret", "evict", "debug", "later"}
	v2Names = []string{"replicas", "resources", "memory", "network", "port", "tls", "secretName", "minVersion", "eviction", "policy", "zones", "later"}
)

// randomValues returns fields of both versions at valid and other paths, with valid and other values.
func randomValues(random *rand.Rand, names []string, depth int) map[string]any {
	values := map[string]any{}
	for range random.IntN(len(names) + 1) {
		values[names[random.IntN(len(names))]] = randomValue(random, names, depth-1)
	}
	return values
}

func randomValue(random *rand.Rand, names []string, depth int) any {
	words := []any{
		"3x512Mi", "03x1Gi", "x", "9223372036854775808x1Gi", "-1x1Gi", "1x2x3", "512Mi", "1Gi", "", "cert", "1.3",
		"lru", "lfu", "never", "LeastRecentlyUsed", "LeastFrequentlyUsed", "Never", "Random",
		int64(0), int64(3), int64(-1), int64(6379), 0.5, true, false, nil,
	}
	switch choice := random.IntN(10); {
	case choice < 4 && depth > 0:
		return randomValues(random, names, depth)
	case choice == 4 && depth > 0:
		list := make([]any, random.IntN(3))
		for i := range list {
			list[i] = randomValue(random, names, depth-1)
		}
		return list
	default:
		return words[random.IntN(len(words))]
	}
}
