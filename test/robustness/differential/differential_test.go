package differential

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

var (
	cluster *kube.Cluster
	seeds   = flag.Int("seeds", 3, "how many sequences of each kind")
	first   = flag.Uint64("seed", 1, "the first seed")
	length  = flag.Int("steps", 25, "how many requests a sequence has")
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(kube.Run(m, &cluster))
}

const root = "../../.."

// The simulated API server and kube-apiserver give the same answers.
func TestSameAnswers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	simulated, err := apiserver.New(ctx, 1, etcd.NewStore())
	must(t, err)
	defer simulated.Wait()
	defer cancel()
	definitions, err := world.Definitions(root)
	must(t, err)
	for _, config := range []*rest.Config{cluster.Config(), simulated.Server(0).Config(apiserver.Admin)} {
		must(t, world.Define(ctx, config, definitions))
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			start, requests := time.Now(), 0
			for seed := *first; seed < *first+uint64(*seeds); seed++ {
				requests += compare(ctx, t, simulated.Server(0).Config(apiserver.Admin), k, seed)
			}
			t.Logf("%d requests in %v", requests, time.Since(start).Round(time.Millisecond))
		})
	}
}

// compare returns how many requests were sent.
func compare(ctx context.Context, t *testing.T, simulated *rest.Config, k kind, seed uint64) int {
	namespace := fmt.Sprintf("seed-%d", seed)
	var sides [2]*side
	for i, config := range []*rest.Config{cluster.Config(), simulated} {
		config.UserAgent = "differential"
		must(t, createNamespace(ctx, config, namespace))
		var err error
		sides[i], err = newSide(config, namespace)
		must(t, err)
	}
	steps := sequence(rand.New(rand.NewPCG(seed, 0)), k, fmt.Sprintf("s%d", seed), *length)
	for i, s := range steps {
		want, got := sides[0].do(ctx, s), sides[1].do(ctx, s)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d, step %d: %v\n%s", seed, i, s, diff)
			for _, earlier := range steps[:i] {
				t.Log(earlier)
			}
			return i
		}
	}
	if k.name != definition.name { // its controllers write when they want
		sameHistory(ctx, t, sides, k, steps[0].name, seed)
	}
	return len(steps)
}

// sameHistory compares what watches show of a whole sequence.
func sameHistory(ctx context.Context, t *testing.T, sides [2]*side, k kind, name string, seed uint64) {
	t.Helper()
	var histories [2][]string
	for i, s := range sides {
		var err error
		histories[i], err = s.history(ctx, k, name)
		must(t, err)
	}
	if diff := cmp.Diff(histories[0], histories[1]); diff != "" {
		t.Errorf("seed %d: watches differ:\n%s", seed, diff)
	}
}

func createNamespace(ctx context.Context, config *rest.Config, name string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err == nil {
		return nil
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
