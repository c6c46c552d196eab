package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

// TestRoundTrips writes Caches in either version, and reads and writes them in the other:
// they come back field by field.
func TestRoundTrips(t *testing.T) {
	e := newEnv(t)
	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)

	random := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		written, other, spec := convert.V1, convert.V2, randomV1(random)
		if i%2 == 1 {
			written, other, spec = convert.V2, convert.V1, randomV2(random)
		}
		name := fmt.Sprintf("cache-%d", i)
		created, err := e.caches(written).Create(t.Context(), newCache(written, name, spec), metav1.CreateOptions{})
		e.must(err)
		if diff := cmp.Diff(spec, created.Object["spec"]); diff != "" {
			t.Fatalf("%s %v as it was created (-want +got):\n%s", written, spec, diff)
		}

		seen := e.get(other, name)
		if diff := cmp.Diff(content(created), content(e.get(written, name))); diff != "" {
			t.Errorf("%s read back (-want +got):\n%s", written, diff)
		}
		seen.SetLabels(map[string]string{"written-in": other.Version})
		_, err = e.caches(other).Update(t.Context(), seen, metav1.UpdateOptions{})
		e.must(err)
		created.SetLabels(map[string]string{"written-in": other.Version})
		if diff := cmp.Diff(content(created), content(e.get(written, name))); diff != "" {
			t.Errorf("%s after %s was written (-want +got):\n%s", written, other, diff)
		}
	}

	for _, version := range []schema.GroupVersion{convert.V1, convert.V2} {
		all, err := e.caches(version).List(t.Context(), metav1.ListOptions{})
		e.must(err)
		if len(all.Items) != 100 {
			t.Errorf("%d Caches are listed in %s", len(all.Items), version)
		}
	}
}

// randomV1 is valid, with some fields left out.
func randomV1(random *rand.Rand) map[string]any {
	spec := map[string]any{"size": fmt.Sprintf("%dx%s", 1+random.IntN(9999), randomMemory(random))}
	sometimes(random, func() { spec["port"] = int64(1 + random.IntN(65535)) })
	sometimes(random, func() { spec["tlsSecret"] = fmt.Sprintf("secret-%d", random.IntN(100)) })
	sometimes(random, func() { spec["evict"] = pick(random, "lru", "lfu", "never") })
	sometimes(random, func() { spec["debug"] = random.IntN(2) == 0 })
	return spec
}

// randomV2 is valid, with some fields left out and some parts empty.
func randomV2(random *rand.Rand) map[string]any {
	spec := map[string]any{
		"replicas":  int64(1 + random.IntN(9999)),
		"resources": map[string]any{"memory": randomMemory(random)},
	}
	sometimes(random, func() {
		network := map[string]any{}
		spec["network"] = network
		sometimes(random, func() { network["port"] = int64(1 + random.IntN(65535)) })
		sometimes(random, func() {
			tls := map[string]any{}
			network["tls"] = tls
			sometimes(random, func() { tls["secretName"] = fmt.Sprintf("secret-%d", random.IntN(100)) })
			sometimes(random, func() { tls["minVersion"] = pick(random, "1.2", "1.3") })
		})
	})
	sometimes(random, func() {
		eviction := map[string]any{}
		spec["eviction"] = eviction
		sometimes(random, func() {
			eviction["policy"] = pick(random, "LeastRecentlyUsed", "LeastFrequentlyUsed", "Random", "Never")
		})
	})
	sometimes(random, func() { spec["zones"] = []any{"north-1", fmt.Sprintf("south-%d", random.IntN(100))} })
	return spec
}

func randomMemory(random *rand.Rand) string {
	return fmt.Sprintf("%d%s", 1+random.IntN(999999), pick(random, "Ki", "Mi", "Gi", "Ti"))
}

func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func sometimes(random *rand.Rand, do func()) {
	if random.IntN(3) > 0 {
		do()
	}
}
