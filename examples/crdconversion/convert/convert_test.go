package convert_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

// TestSameCache has pairs that say the same: each is the other one, converted.
func TestSameCache(t *testing.T) {
	for name, pair := range map[string]struct{ v1, v2 string }{
		"all that both can say": {
			`{spec: {size: 3x512Mi, port: 6379, tlsSecret: cert, evict: lru}}`,
			`{spec: {replicas: 3, resources: {memory: 512Mi}, network: {port: 6379, tls: {secretName: cert}}, eviction: {policy: LeastRecentlyUsed}}}`,
		},
		"the least that there is": {
			`{spec: {size: 1x1Gi}}`,
			`{spec: {replicas: 1, resources: {memory: 1Gi}}}`,
		},
		"other words": {
			`{spec: {evict: lfu}}`,
			`{spec: {eviction: {policy: LeastFrequentlyUsed}}}`,
		},
		"never": {
			`{spec: {evict: never}}`,
			`{spec: {eviction: {policy: Never}}}`,
		},
		"what only v1 has": {
			`{spec: {size: 1x1Gi, debug: true}}`,
			`{metadata: {annotations: {crdconversion.example.com/v1-spec: '{"debug":true}'}}, spec: {replicas: 1, resources: {memory: 1Gi}}}`,
		},
		"what only v2 has": {
			`{metadata: {annotations: {mine: stays, crdconversion.example.com/v2-spec: '{"network":{"tls":{"minVersion":"1.3"}},"zones":["b","a"]}'}}, spec: {size: 1x1Gi, tlsSecret: cert}}`,
			`{metadata: {annotations: {mine: stays}}, spec: {replicas: 1, resources: {memory: 1Gi}, network: {tls: {secretName: cert, minVersion: "1.3"}}, zones: [b, a]}}`,
		},
		"a word that v1 has not": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"eviction":{"policy":"Random"}}'}}, spec: {}}`,
			`{spec: {eviction: {policy: Random}}}`,
		},
		"fields that nobody knows": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"network":{"ipFamily":"IPv6"},"resources":{"cpu":2}}'}}, spec: {size: 1x1Gi}}`,
			`{spec: {replicas: 1, resources: {memory: 1Gi, cpu: 2}, network: {ipFamily: IPv6}}}`,
		},
		"a size that is none": {
			`{spec: {size: large, port: 1}}`,
			`{metadata: {annotations: {crdconversion.example.com/v1-spec: '{"size":"large"}'}}, spec: {network: {port: 1}}}`,
		},
		"a size in another spelling": {
			`{spec: {size: 03x512Mi}}`,
			`{metadata: {annotations: {crdconversion.example.com/v1-spec: '{"size":"03x512Mi"}'}}, spec: {}}`,
		},
		"half a size": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"replicas":3}'}}, spec: {}}`,
			`{spec: {replicas: 3}}`,
		},
		"replicas that are no number": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"replicas":"3","resources":{"memory":"1Gi"}}'}}, spec: {}}`,
			`{spec: {replicas: "3", resources: {memory: 1Gi}}}`,
		},
		"empty parts": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"eviction":{},"network":{"tls":{}}}'}}, spec: {port: 1}}`,
			`{spec: {network: {port: 1, tls: {}}, eviction: {}}}`,
		},
		"text where a part should be": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"network":"none"}'}}, spec: {}}`,
			`{spec: {network: none}}`,
		},
		"the status": {
			`{spec: {}, status: {memory: 1Gi, observedGeneration: 2}}`,
			`{spec: {}, status: {memory: 1Gi, observedGeneration: 2}}`,
		},
		"no spec": {
			`{status: {memory: 1Gi}}`,
			`{status: {memory: 1Gi}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v1, v2 := cache(t, convert.V1, pair.v1), cache(t, convert.V2, pair.v2)
			if diff := cmp.Diff(v2.Object, toV2(t, v1).Object); diff != "" {
				t.Errorf("v1 in v2 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(v1.Object, toV1(t, v2).Object); diff != "" {
				t.Errorf("v2 in v1 (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEdit has a client of one version change an object that the other version wrote.
func TestEdit(t *testing.T) {
	for name, test := range map[string]struct {
		v2   string
		edit func(spec map[string]any)
		want string
	}{
		"the rest stays": {
			`{spec: {replicas: 1, resources: {memory: 1Gi, cpu: 2}, zones: [a]}}`,
			func(spec map[string]any) { spec["size"] = "5x2Gi" },
			`{spec: {replicas: 5, resources: {memory: 2Gi, cpu: 2}, zones: [a]}}`,
		},
		"a word of v1 replaces one that only v2 has": {
			`{spec: {eviction: {policy: Random, after: 1h}}}`,
			func(spec map[string]any) { spec["evict"] = "lru" },
			`{spec: {eviction: {policy: LeastRecentlyUsed, after: 1h}}}`,
		},
		"what is removed is gone": {
			`{spec: {network: {port: 1, tls: {secretName: cert, minVersion: "1.3"}}}}`,
			func(spec map[string]any) { delete(spec, "tlsSecret") },
			`{spec: {network: {port: 1, tls: {minVersion: "1.3"}}}}`,
		},
		"a value makes room for itself": {
			`{spec: {network: none}}`,
			func(spec map[string]any) { spec["port"] = int64(1) },
			`{spec: {network: {port: 1}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v1 := toV1(t, cache(t, convert.V2, test.v2))
			test.edit(v1.Object["spec"].(map[string]any))
			if diff := cmp.Diff(cache(t, convert.V2, test.want).Object, toV2(t, v1).Object); diff != "" {
				t.Errorf("v2 after the edit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnnotationThatIsNoSpecStays(t *testing.T) {
	for _, text := range []string{"", "no JSON", "null", "[]", `"size"`} {
		v2 := cache(t, convert.V2, `{spec: {replicas: 1, resources: {memory: 1Gi}}}`)
		v2.SetAnnotations(map[string]string{convert.V1Annotation: text})
		if diff := cmp.Diff(v2.Object, toV2(t, toV1(t, v2)).Object); diff != "" {
			t.Errorf("there and back with annotation %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestConversionLeavesTheOriginalAlone(t *testing.T) {
	v2 := cache(t, convert.V2, `{metadata: {annotations: {mine: stays}}, spec: {replicas: 1, resources: {memory: 1Gi}, zones: [a]}, status: {conditions: [{type: Ready}]}}`)
	before := v2.DeepCopy()
	v1 := toV1(t, v2)
	v1.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["type"] = "changed"
	if diff := cmp.Diff(before.Object, v2.Object); diff != "" {
		t.Errorf("the original (-before +after):\n%s", diff)
	}
}

// TestRoundTripOfRandomCaches has every Cache come back as it went, field by field.
func TestRoundTripOfRandomCaches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
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
		if utiljson.Unmarshal(text, &spec) != nil || spec == nil {
			t.Skip("no object")
		}
		expectRoundTrip(t, throughJSON(t, spec))
	})
}

// expectRoundTrip takes a spec for one of v1, and then for one of v2.
func expectRoundTrip(t *testing.T, spec map[string]any) {
	t.Helper()
	metadata := map[string]any{"name": "c", "annotations": map[string]any{"mine": "stays"}}
	object := map[string]any{"spec": spec, "metadata": metadata, "status": map[string]any{"memory": "1Gi"}}
	v1 := cacheOf(t, convert.V1, object)
	expectSame(t, v1, toV1(t, toV2(t, v1)))
	v2 := cacheOf(t, convert.V2, object)
	expectSame(t, v2, toV2(t, toV1(t, v2)))
}

func expectSame(t *testing.T, went, came *unstructured.Unstructured) {
	t.Helper()
	if !reflect.DeepEqual(went.Object, came.Object) { // much faster than to find no difference
		t.Errorf("there and back (-went +came):\n%s", cmp.Diff(went.Object, came.Object))
	}
}

var (
	v1Names = []string{"size", "port", "tlsSecret", "evict", "debug", "later"}
	v2Names = []string{"replicas", "resources", "memory", "network", "port", "tls", "secretName", "minVersion", "eviction", "policy", "zones", "later"}
)

// randomValues has the names that the versions know, in their places and in others, with
// values that fit there and others.
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

func toV1(t *testing.T, v2 *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return converted(t, v2, convert.V1, convert.ToV1)
}

func toV2(t *testing.T, v1 *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return converted(t, v1, convert.V2, convert.ToV2)
}

// converted does what a server does around a conversion: the metadata is copied before, and
// after it the object goes over the wire.
func converted(t *testing.T, from *unstructured.Unstructured, version schema.GroupVersion, convert func(from, to *unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	to := &unstructured.Unstructured{Object: map[string]any{}}
	to.SetGroupVersionKind(version.WithKind("Cache"))
	to.Object["metadata"] = from.DeepCopy().Object["metadata"]
	if err := convert(from, to); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: throughJSON(t, to.Object)}
}

// throughJSON also makes one of what JSON does not tell apart, such as 1 and 1.0.
func throughJSON(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := utiljson.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func cache(t *testing.T, version schema.GroupVersion, text string) *unstructured.Unstructured {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
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
