package caches

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// RoundTrips writes random Caches in each version, and reads and writes them in the other. No field
// changes. It deletes them afterwards.
func (c *Client) RoundTrips(t *testing.T, count int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("the random Caches are those of seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range count {
		written, other, spec := convert.V1, convert.V2, randomV1(random)
		if i%2 == 1 {
			written, other, spec = convert.V2, convert.V1, randomV2(random)
		}
		c.roundTrip(t, New(written, fmt.Sprintf("cache-%d", i), spec), written, other)
	}
	for _, version := range Versions {
		all := kube.List(t, c.In(version), metav1.ListOptions{LabelSelector: writtenIn})
		if len(all.Items) != count {
			t.Errorf("%d Caches are listed in %s", len(all.Items), version)
		}
	}
	if err := c.In(convert.V2).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: writtenIn}); err != nil {
		t.Error(err)
	}
}

// writtenIn is a label that shows that the other version was written.
const writtenIn = "written-in"

func (c *Client) roundTrip(t *testing.T, object *unstructured.Unstructured, written, other schema.GroupVersion) {
	t.Helper()
	object.SetLabels(map[string]string{"mine": "stays"})
	object.SetAnnotations(map[string]string{"mine": "stays"})
	spec := object.Object["spec"]
	created, err := c.In(written).Create(t.Context(), object, metav1.CreateOptions{})
	installtest.Must(t, err)
	installtest.Same(t, fmt.Sprintf("%s %v as it was created", written, spec), spec, created.Object["spec"])
	installtest.Same(t, written.String()+" read back", Authored(created), Authored(c.Get(t, written, object.GetName())))

	// The operator may write the status meanwhile.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		seen := c.Get(t, other, object.GetName())
		seen.SetLabels(map[string]string{"mine": "stays", writtenIn: other.Version})
		_, err := c.In(other).Update(t.Context(), seen, metav1.UpdateOptions{})
		return err
	})
	installtest.Must(t, err)
	created.SetLabels(map[string]string{"mine": "stays", writtenIn: other.Version})
	installtest.Same(t, fmt.Sprintf("%s after %s was written", written, other), Authored(created), Authored(c.Get(t, written, object.GetName())))
	c.statusIsKept(t, object.GetName(), written, other)
}

// statusIsKept writes a status in one version and reads it in the other, at one resourceVersion: a
// running operator overwrites it.
func (c *Client) statusIsKept(t *testing.T, name string, written, other schema.GroupVersion) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		seen := c.Get(t, written, name)
		seen.Object["status"] = map[string]any{"memory": "1Gi", "observedGeneration": seen.GetGeneration()}
		_, err := c.In(written).UpdateStatus(t.Context(), seen, metav1.UpdateOptions{})
		return err
	})
	installtest.Must(t, err)
	one, same := c.Get(t, written, name), c.Get(t, other, name)
	for one.GetResourceVersion() != same.GetResourceVersion() {
		one, same = same, c.Get(t, one.GroupVersionKind().GroupVersion(), name)
	}
	if one.Object["status"] == nil {
		t.Errorf("there is no status in %s", one.GetAPIVersion())
	}
	installtest.Same(t, fmt.Sprintf("the status in %s and in %s", one.GetAPIVersion(), same.GetAPIVersion()), one.Object["status"], same.Object["status"])
}

// randomV1 returns a valid spec without some of the fields.
func randomV1(random *rand.Rand) map[string]any {
	spec := map[string]any{"size": fmt.Sprintf("%dx%s", 1+random.IntN(9999), randomMemory(random))}
	sometimes(random, func() { spec["port"] = int64(1 + random.IntN(65535)) })
	sometimes(random, func() { spec["tlsSecret"] = fmt.Sprintf("secret-%d", random.IntN(100)) })
	sometimes(random, func() { spec["evict"] = pick(random, "lru", "lfu", "never") })
	sometimes(random, func() { spec["debug"] = random.IntN(2) == 0 })
	return spec
}

// randomV2 returns a valid spec without some of the fields, and with some empty parts.
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
