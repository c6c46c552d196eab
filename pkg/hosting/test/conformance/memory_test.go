package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// Clients open calls and do not end them.
func TestMemoryUnderCallsThatDoNotEnd(t *testing.T) {
	address, pid := startQuickStart(t)
	address = net.JoinHostPort(address, "9443")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	metrics := func() string {
		response, err := client.Get("https://" + address + "/metrics")
		if err != nil {
			return ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	hostingtest.Eventually(t, "the program serves", func() bool { return metrics() != "" })

	t.Run("100 streams of headers", func(t *testing.T) {
		before := residentMemory(t, pid)
		conn, err := streams.Dial(t.Context(), address)
		hostingtest.Must(t, err)
		defer conn.Close()
		const many = 100
		for range many {
			if _, err := conn.Open("/pods?timeout=30s", 7<<20); err != nil {
				t.Fatal(err)
			}
		}
		hostingtest.Eventually(t, "all calls are in progress", func() bool {
			return strings.Contains(metrics(), fmt.Sprintf("hosting_webhook_requests_inflight %d\n", many))
		})
		wantGrownLess(t, pid, before, 20_000_000)
	})
	t.Run("40 bodies without an end", func(t *testing.T) {
		hostingtest.Eventually(t, "the calls of the first test have ended", func() bool {
			return strings.Contains(metrics(), "hosting_webhook_requests_inflight 0\n")
		})
		before := residentMemory(t, pid)
		const length = 7<<20 - 1
		for range 40 {
			conn := hostingtest.DialTLS(t, address)
			hostingtest.Must(t, conn.SetWriteDeadline(time.Now().Add(10*time.Second)))
			fmt.Fprintf(conn, "POST /pods?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
			_, _ = io.WriteString(conn, strings.Repeat(" ", length-1)) // fails where the call is refused
		}
		hostingtest.Eventually(t, "the bodies that fit are held, and the others refused", func() bool {
			return strings.Contains(metrics(), "hosting_webhook_requests_inflight 2\n")
		})
		wantGrownLess(t, pid, before, 60_000_000)
	})
	t.Run("300 headers without an end", func(t *testing.T) {
		before := residentMemory(t, pid)
		for range 300 {
			conn := hostingtest.DialTLS(t, address)
			hostingtest.Must(t, conn.SetWriteDeadline(time.Now().Add(10*time.Second)))
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("A: "+strings.Repeat("b", 1020)+"\r\n", 1000)) // fails where the header is refused
		}
		if metrics() == "" {
			t.Error("another caller is not answered")
		}
		wantGrownLess(t, pid, before, 60_000_000)
	})
}

func wantGrownLess(t *testing.T, pid int, before, limit int64) {
	t.Helper()
	grown := residentMemory(t, pid) - before
	t.Logf("resident memory grew by %.1f MB from %.1f MB", float64(grown)/1e6, float64(before)/1e6)
	if grown >= limit {
		t.Errorf("resident memory grew by %d bytes, want less than %d", grown, limit)
	}
}

func residentMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	hostingtest.Must(t, err)
	var kib int64
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// load has the API server call the webhook a hundred times a second. A slow call does not delay the next.
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
