package campaign

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/actors"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
)

// How often requests that webhooks intercept are sent to each API server, and how often garbage is collected.
const (
	trafficInterval = 2 * time.Second
	garbageInterval = 20 * time.Second
)

// ask sends requests to an API server until the context ends: dry runs of the creation of a ConfigMap, in the namespace of each operator in
// turn. They have an effect on webhooks only. A refusal is no concern of this client: the recorder observes the calls.
func (r *run) ask(ctx context.Context, server *apiserver.Server) error {
	c, err := newClient(server, "user")
	if err != nil {
		return err
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "object"}}
	for i := 0; every(ctx, trafficInterval); i++ {
		namespace := fmt.Sprint("shop-", i%len(r.scenario.Operators))
		_, _ = c.kube.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return nil
}

// collectGarbage runs the garbage collector until the context ends. What fails is tried in the next round.
func (r *run) collectGarbage(ctx context.Context) error {
	config := r.Server(0).Config(apiserver.Admin)
	config.UserAgent = "garbage collector"
	collector, err := actors.New(config)
	if err != nil {
		return err
	}
	for every(ctx, garbageInterval) {
		_, _ = collector.CollectGarbage(ctx)
	}
	return nil
}

// every waits, and reports whether the context still exists.
func every(ctx context.Context, interval time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(interval):
		return true
	}
}
