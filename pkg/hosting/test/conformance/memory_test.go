package conformance

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

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
