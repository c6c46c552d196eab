package world

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// Defined returns the store of a cluster that serves the kinds of OLM and of the manager, and has no other object. Every world can start with it, so that a
// run does not spend half of its time on definitions. The argument is the root of the repository.
func Defined(t *testing.T, root string) (snapshot etcd.Snapshot) {
	t.Helper()
	definitions, err := Definitions(root)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster, err := apiserver.New(ctx, 1, etcd.NewStore())
		if err != nil {
			t.Fatal(err)
		}
		err = Define(ctx, cluster.Server(0).Config(apiserver.Admin), definitions)
		snapshot = cluster.Store.Snapshot()
		cancel()
		cluster.Wait()
		time.Sleep(drain)
		if err != nil {
			t.Fatal(err)
		}
	})
	return snapshot
}
