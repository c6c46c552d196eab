package campaign

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// A manager that starts before the kinds of OLM are served fills its caches when they are.
func TestKindsComeLater(t *testing.T) {
	definitions := installtest.OrPanic(world.Definitions(root))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := installtest.OrPanic(world.New(ctx, 1, etcd.NewStore(), 1, world.Delays{}))
		filled := make(chan time.Time, 1)
		var running sync.WaitGroup
		running.Go(func() {
			c := installtest.OrPanic(newManager(w, managerAgent, true))
			if err := c.Fill(ctx); err != nil {
				t.Error(err)
			}
			filled <- time.Now()
			c.Run(ctx)
		})
		time.Sleep(10 * time.Second)
		installtest.Must(t, world.Define(ctx, w.Server(0).Config(apiserver.Admin), definitions))
		defined := time.Now()
		if took := (<-filled).Sub(defined); took > time.Minute {
			t.Errorf("the caches are filled %v after the kinds are served", took)
		}
		cancel()
		running.Wait()
		w.Wait()
	})
}
