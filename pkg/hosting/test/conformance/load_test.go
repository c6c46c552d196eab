package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// load has the API server call the webhook a hundred times a second. A slow call does not delay the
// next.
type load struct {
	stop   context.CancelFunc
	done   chan struct{}
	calls  atomic.Int64
	mu     sync.Mutex
	failed []string
	sent   []time.Time
	took   []time.Duration
}

// mostInFlight limits the calls in progress. With more of them, a busy machine would not answer each
// within the timeout of the webhook, and calls would fail without a defect of the server.
const mostInFlight = 20

func startLoad(t *testing.T, client kubernetes.Interface, namespace string) *load {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop, done: make(chan struct{})}
	t.Cleanup(func() { l.end() })
	go func() {
		defer close(l.done)
		var calls sync.WaitGroup
		defer calls.Wait()
		inFlight := make(chan struct{}, mostInFlight)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				inFlight <- struct{}{}
				calls.Go(func() {
					l.call(client, namespace)
					<-inFlight
				})
			case <-ctx.Done():
				return
			}
		}
	}()
	return l
}

func (l *load) call(client kubernetes.Interface, namespace string) {
	sent := time.Now()
	err := dryRun(context.Background(), client, namespace, "allow")
	l.calls.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.took = append(l.sent, sent), append(l.took, time.Since(sent))
	if err != nil {
		l.failed = append(l.failed, fmt.Sprintf("%s: %v", time.Now().Format("05.000"), err))
	}
}

func (l *load) another(t *testing.T, calls int64) {
	t.Helper()
	until := l.calls.Load() + calls
	hostingtest.Eventually(t, fmt.Sprintf("%d more calls", calls), func() bool { return l.calls.Load() >= until })
}

func (l *load) end() {
	l.stop()
	<-l.done
}

func (l *load) wantNoneFailed(t *testing.T) {
	t.Helper()
	l.end()
	t.Logf("%d calls, %d failed", l.calls.Load(), len(l.failed))
	t.Log(l.pace())
	for _, f := range l.failed {
		t.Error(f)
	}
}

// pace returns the real rate of the load: a busy machine makes fewer calls.
func (l *load) pace() string {
	slices.Sort(l.took)
	slices.SortFunc(l.sent, time.Time.Compare)
	gap := time.Duration(0)
	for i := range l.sent[1:] {
		gap = max(gap, l.sent[i+1].Sub(l.sent[i]))
	}
	rate := float64(len(l.sent)) / l.sent[len(l.sent)-1].Sub(l.sent[0]).Seconds()
	return fmt.Sprintf("%.0f calls a second, 99%% of them answered within %s, at most %s between two",
		rate, l.took[len(l.took)*99/100].Round(time.Millisecond), gap.Round(time.Millisecond))
}
