package apiserver

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watching returns the names of the Secrets that a watch shows, with the time at which it showed each.
func watching(ctx context.Context, t *testing.T, c *Cluster, server int) (shown func(string) time.Time, ended func() bool) {
	t.Helper()
	secrets := clientOf(t, c, server, Admin).CoreV1().Secrets("shop")
	w, err := secrets.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	times, closed := map[string]time.Time{}, make(chan struct{})
	names := make(chan string, 100)
	go func() {
		defer close(closed)
		for e := range w.ResultChan() {
			if e.Type == watch.Added {
				names <- e.Object.(metav1.Object).GetName()
				times[e.Object.(metav1.Object).GetName()] = time.Now()
			}
		}
	}()
	shown = func(name string) time.Time { return times[name] } // after a sleep: the bubble orders them
	ended = func() bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	}
	return shown, ended
}

// One API server is late, and the other is not. Live reads at the late one are current.
func TestLag(t *testing.T) {
	inCluster(t, 2, func(ctx context.Context, t *testing.T, c *Cluster) {
		current, _ := watching(ctx, t, c, 0)
		late, _ := watching(ctx, t, c, 1)
		c.Server(1).View().SetLag(10 * time.Second)
		time.Sleep(time.Second)
		written := time.Now()
		must(t, create(ctx, clientOf(t, c, 0, Admin).CoreV1().Secrets("shop"), "a"))
		if !exists(ctx, clientOf(t, c, 1, Admin).CoreV1().Secrets("shop"), "a") {
			t.Error("a live read is late")
		}
		time.Sleep(time.Minute)
		if d := current("a").Sub(written); d < 0 || d > time.Second {
			t.Errorf("shown after %v by the API server that is not late", d)
		}
		if d := late("a").Sub(written); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("shown after %v by the late API server", d)
		}
	})
}

// A list from the cache of a held API server is stale, and a list without a version is not.
func TestHeldList(t *testing.T) {
	inCluster(t, 2, func(ctx context.Context, t *testing.T, c *Cluster) {
		held := clientOf(t, c, 1, Admin).CoreV1().Secrets("shop")
		count := func(version string) int {
			list, err := held.List(ctx, metav1.ListOptions{ResourceVersion: version})
			must(t, err)
			return len(list.Items)
		}
		if count("0") != 0 {
			t.Fatal("not empty")
		}
		c.Server(1).View().Hold()
		must(t, create(ctx, clientOf(t, c, 0, Admin).CoreV1().Secrets("shop"), "a"))
		time.Sleep(time.Minute)
		if stale, live := count("0"), count(""); stale != 0 || live != 1 {
			t.Errorf("%d from the cache, %d live", stale, live)
		}
		c.Server(1).View().Release()
		time.Sleep(time.Minute)
		if count("0") != 1 {
			t.Error("stale after the release")
		}
	})
}

// Watches of clients end when a test cuts them. A new one shows everything.
func TestCutWatches(t *testing.T) {
	inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
		_, ended := watching(ctx, t, c, 0)
		time.Sleep(time.Second)
		if ended() {
			t.Fatal("ended too early")
		}
		c.Server(0).CutWatches()
		time.Sleep(time.Second)
		if !ended() {
			t.Error("the watch continues")
		}
		must(t, create(ctx, clientOf(t, c, 0, Admin).CoreV1().Secrets("shop"), "a"))
		shown, _ := watching(ctx, t, c, 0)
		time.Sleep(time.Second)
		if shown("a").IsZero() {
			t.Error("a new watch shows nothing")
		}
	})
}

// An API server whose watches at etcd end resumes them. Its clients notice nothing.
func TestCutView(t *testing.T) {
	inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
		shown, ended := watching(ctx, t, c, 0)
		time.Sleep(time.Second)
		c.Server(0).View().Cut()
		must(t, create(ctx, clientOf(t, c, 0, Admin).CoreV1().Secrets("shop"), "a"))
		time.Sleep(time.Minute)
		if shown("a").IsZero() || ended() {
			t.Error("a write is not shown, ended:", ended())
		}
	})
}

// A watch from a revision that is compacted, and no longer in the cache of the API server, is refused.
func TestExpired(t *testing.T) {
	inCluster(t, 2, func(ctx context.Context, t *testing.T, c *Cluster) {
		first := clientOf(t, c, 0, Admin).CoreV1().Secrets("shop")
		must(t, create(ctx, first, "a"))
		list, err := first.List(ctx, metav1.ListOptions{})
		must(t, err)
		must(t, create(ctx, first, "b"))
		must(t, create(ctx, first, "c"))
		c.Store.Compact(c.Store.Revision())
		// The other API server has read nothing yet.
		w, err := clientOf(t, c, 1, Admin).CoreV1().Secrets("shop").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err == nil {
			e := <-w.ResultChan()
			err = apierrors.FromObject(e.Object)
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Error(err)
		}
	})
}
