package convert_test

import (
	"fmt"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSameCache(t *testing.T) {
	for name, pair := range map[string]struct{ v1, v2 string }{
		"all that both can say": {
			`{spec: {size: 3x512Mi, port: 6379, tlsSecret: cert, evict: lru}}`,
			`{spec: {replicas: 3, resources: {memory: 512Mi}, network: {port: 6379, tls: {secretName: cert}}, eviction: {policy: LeastRecentlyUsed}}}`,
		},
		"the least that there is": {`{spec: {size: 1x1Gi}}`, `{spec: {replicas: 1, resources: {memory: 1Gi}}}`},
		"other words":             {`{spec: {evict: lfu}}`, `{spec: {eviction: {policy: LeastFrequentlyUsed}}}`},
		"never":                   {`{spec: {evict: never}}`, `{spec: {eviction: {policy: Never}}}`},
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
		"unknown fields": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"network":{"ipFamily":"IPv6"},"resources":{"cpu":2}}'}}, spec: {size: 1x1Gi}}`,
			`{spec: {replicas: 1, resources: {memory: 1Gi, cpu: 2}, network: {ipFamily: IPv6}}}`,
		},
		"half a size": {`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"replicas":3}'}}, spec: {}}`, `{spec: {replicas: 3}}`},
		"empty parts": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"eviction":{},"network":{"tls":{}}}'}}, spec: {port: 1}}`,
			`{spec: {network: {port: 1, tls: {}}, eviction: {}}}`,
		},
		"the status": {`{spec: {}, status: {memory: 1Gi, observedGeneration: 2}}`, `{spec: {}, status: {memory: 1Gi, observedGeneration: 2}}`},
		"no spec":    {`{status: {memory: 1Gi}}`, `{status: {memory: 1Gi}}`},
	} {
		t.Run(name, func(t *testing.T) {
			v1, v2 := cache(t, convert.V1, pair.v1), cache(t, convert.V2, pair.v2)
			installtest.Same(t, "v1 in v2", v2.Object, toV2(t, v1).Object)
			installtest.Same(t, "v2 in v1", v1.Object, toV1(t, v2).Object)
		})
	}
}

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
		"removed values": {
			`{spec: {network: {port: 1, tls: {secretName: cert, minVersion: "1.3"}}}}`,
			func(spec map[string]any) { delete(spec, "tlsSecret") },
			`{spec: {network: {port: 1, tls: {minVersion: "1.3"}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v1 := toV1(t, cache(t, convert.V2, test.v2))
			test.edit(v1.Object["spec"].(map[string]any))
			installtest.Same(t, "v2 after the edit", cache(t, convert.V2, test.want).Object, toV2(t, v1).Object)
		})
	}
}

// The API server does not validate the result of a conversion.
func TestWhatTheSchemaRefusesIsNotRestored(t *testing.T) {
	for name, test := range map[string]struct{ v1, v2 string }{
		"text where a list should be": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"zones":"everywhere"}'}}, spec: {size: 3x512Mi}}`,
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"zones":"everywhere"}'}}, spec: {replicas: 3, resources: {memory: 512Mi}}}`,
		},
		"a word that is none": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"eviction":{"policy":"Unknown"},"zones":["a"]}'}}, spec: {port: 1}}`,
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"eviction":{"policy":"Unknown"},"zones":["a"]}'}}, spec: {network: {port: 1}}}`,
		},
		"a zone twice": {
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"zones":["a","a"]}'}}, spec: {}}`,
			`{metadata: {annotations: {crdconversion.example.com/v2-spec: '{"zones":["a","a"]}'}}, spec: {}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v1, v2 := cache(t, convert.V1, test.v1), cache(t, convert.V2, test.v2)
			installtest.Same(t, "v1 in v2", v2.Object, toV2(t, v1).Object)
			installtest.Same(t, "and back", v1.Object, toV1(t, v2).Object)
		})
	}
}

func TestAnnotationsOfUsersComeBack(t *testing.T) {
	texts := []string{`{"port":6379}`, `{"port":"not a number"}`, `{"zones":["a"]}`, `{"zones":"a"}`, "{}", "no JSON"}
	names := []string{convert.V1Annotation, convert.V1Annotation + ".kept", convert.V1Annotation + ".kept.kept", convert.V2Annotation, convert.V2Annotation + ".kept"}
	for _, spec := range []string{`{spec: {size: 3x512Mi}}`, `{spec: {size: 3x512Mi, debug: true}}`} {
		for _, name := range names[:3] {
			for _, text := range texts {
				v1 := cache(t, convert.V1, spec)
				v1.SetAnnotations(map[string]string{name: text, "mine": "stays"})
				expectSame(t, v1, toV1(t, toV2(t, v1)))
			}
		}
	}
	for _, spec := range []string{`{spec: {replicas: 3}}`, `{spec: {zones: [b], replicas: 3, resources: {memory: 1Gi}}}`} {
		for _, name := range names[3:] {
			for _, text := range texts {
				v2 := cache(t, convert.V2, spec)
				v2.SetAnnotations(map[string]string{name: text, "mine": "stays"})
				expectSame(t, v2, toV2(t, toV1(t, v2)))
			}
		}
	}
}

func TestAnAnnotationThatIsNoSpecStays(t *testing.T) {
	for _, text := range []string{"", "no JSON", "null", "[]", `"size"`} {
		v2 := cache(t, convert.V2, `{spec: {replicas: 1, resources: {memory: 1Gi}}}`)
		v2.SetAnnotations(map[string]string{convert.V1Annotation: text})
		installtest.Same(t, fmt.Sprintf("there and back with annotation %q", text), v2.Object, toV2(t, toV1(t, v2)).Object)
	}
}

func TestConversionLeavesTheOriginalAlone(t *testing.T) {
	v2 := cache(t, convert.V2, `{metadata: {annotations: {mine: stays}}, spec: {replicas: 1, resources: {memory: 1Gi}, zones: [a]}, status: {conditions: [{type: Ready}]}}`)
	before := v2.DeepCopy()
	v1 := toV1(t, v2)
	v1.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["type"] = "changed"
	installtest.Same(t, "the original", before.Object, v2.Object)
}
