package httpserver

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func testLog() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

func startTest(t *testing.T, handler http.Handler, config *tls.Config, l limits) *Server {
	t.Helper()
	s := installtest.OrPanic(start("127.0.0.1:0", handler, config, testLog(), l))
	t.Cleanup(s.Close)
	return s
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c := installtest.OrPanic(net.Dial("tcp", s.Address()))
	t.Cleanup(func() { c.Close() })
	return c
}

// send writes text; the server may close the connection before it has read everything.
func send(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

func closedByServer(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server keeps the connection open")
	}
}

func TestUnfinishedHeadersHoldLittleMemory(t *testing.T) {
	for name, size := range map[string]int{"beyond the limit": 900 << 10, "just below the limit": 15 << 10} {
		t.Run(name, func(t *testing.T) {
			s := startTest(t, ok, nil, defaultLimits)
			unfinished := "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", size/1000)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range 300 {
				send(dial(t, s), unfinished)
			}
			// The server accepts in order: the answer to this request comes after all the others.
			get(t, s)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 10<<20 {
				t.Errorf("300 unfinished headers hold %d MiB", grown>>20)
			}
		})
	}
}

func get(t *testing.T, s *Server) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	response, err := client.Get("http://" + s.Address() + "/")
	if err != nil {
		t.Fatalf("a probe is not answered: %v", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("a probe is answered with %s", response.Status)
	}
}

func TestConnectionsThatSendNothingAreClosed(t *testing.T) {
	short := defaultLimits
	short.readTimeout, short.idle = 50*time.Millisecond, 50*time.Millisecond
	self := installtest.OrPanic(SelfSignedTLS("manager"))
	for name, test := range map[string]struct {
		config *tls.Config
		send   string
	}{
		"no byte":                    {},
		"half a header":              {send: "GET / HTTP/1.1\r\nHost:"},
		"idle after a request":       {send: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
		"a body that does not come":  {send: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"},
		"no TLS handshake":           {config: self},
		"half a TLS handshake":       {config: self, send: "\x16\x03\x01\x02\x00\x01"},
		"plain HTTP to a TLS server": {config: self, send: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, startTest(t, ok, test.config, short))
			send(c, test.send)
			closedByServer(t, c)
		})
	}
}

func TestConnectionsBeyondTheLimit(t *testing.T) {
	few := defaultLimits
	few.connections = 3
	release := make(chan struct{})
	started := make(chan struct{})
	s := startTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			started <- struct{}{}
			<-release
		}
		ok(w, r)
	}), nil, few)

	oldest := dial(t, s)
	send(oldest, "GET / HTTP/1.1\r\nHost:")
	for range 2 {
		send(dial(t, s), "GET / HTTP/1.1\r\nHost:")
	}
	get(t, s) // There is room for a probe,
	closedByServer(t, oldest)

	// and requests in progress are not interrupted by new connections.
	var slow []net.Conn
	for range 3 {
		c := dial(t, s)
		send(c, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
		<-started
		slow = append(slow, c)
	}
	closedByServer(t, dial(t, s))
	close(release)
	for _, c := range slow {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		installtest.Must(t, err)
		installtest.Same(t, "the status of a request in progress", http.StatusOK, response.StatusCode)
	}
	get(t, s) // Idle connections leave room, too.
}

func TestRequestsWithABodyAreRefused(t *testing.T) {
	c := dial(t, startTest(t, ok, nil, defaultLimits))
	send(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	installtest.Must(t, err)
	installtest.Same(t, "status", http.StatusRequestEntityTooLarge, response.StatusCode)
}

// Each limit of the manager's servers is set.
func TestDefaultLimits(t *testing.T) {
	l := defaultLimits
	if l.headerBytes <= 0 || l.headerBytes > 16<<10 || l.connections <= 0 || l.connections*l.headerBytes > 1<<20 {
		t.Errorf("%d connections have %d bytes of headers each", l.connections, l.headerBytes)
	}
	for name, d := range map[string]time.Duration{"readTimeout": l.readTimeout, "writing": l.writing, "idle": l.idle} {
		if d <= 0 || d > 2*time.Minute {
			t.Errorf("%s is %s", name, d)
		}
	}
	if l.readTimeout > 10*time.Second {
		t.Errorf("a header may take %s", l.readTimeout)
	}
}
