package hosting

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
)

const podReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
	`"kind":{"group":"","version":"v1","kind":"Pod"},"operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}}`

// counting is a webhook whose handlers ignore their context and run until proceed is closed.
type counting struct {
	running, most, begun atomic.Int64
	proceed              chan struct{}
}

func (c *counting) handler() Handler {
	return Validating(func(context.Context, Request[*corev1.Pod]) error {
		c.begun.Add(1)
		n := c.running.Add(1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
			continue
		}
		<-c.proceed
		c.running.Add(-1)
		return nil
	})
}

func podEndpoint(h Handler, l *limits.Calls) *endpoint {
	e := newEndpoint("pods", Webhook{Kinds: []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}, Handler: h}, newMetrics(), l)
	e.ready.Store(true)
	return e
}

func serveOverTLS(t *testing.T, h Handler, l *limits.Calls, maxStreams uint32) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(limitTime(podEndpoint(h, l)))
	server.EnableHTTP2 = true
	hostingtest.Must(t, http2.ConfigureServer(server.Config, &http2.Server{MaxConcurrentStreams: maxStreams}))
	server.TLS = server.Config.TLSConfig
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func admitPod(context.Context, Request[*corev1.Pod]) error { return nil }

func TestRapidResetRunsNoMoreHandlersThanStreams(t *testing.T) {
	const maxStreams = 10
	c := &counting{proceed: make(chan struct{})}
	server := serveOverTLS(t, c.handler(), limits.NewCalls(), maxStreams)
	defer close(c.proceed)
	conn, err := streams.Dial(t.Context(), server.Listener.Addr().String())
	hostingtest.Must(t, err)
	defer conn.Close()
	for i := range 100 * maxStreams {
		stream, err := conn.Post("/pods?timeout=30s", []byte(podReview))
		if i < maxStreams {
			hostingtest.Eventually(t, "the stream's handler runs", func() bool { return c.begun.Load() == int64(i+1) })
		}
		if err == nil {
			err = conn.Reset(stream)
		}
		if err != nil {
			break // the server has closed the connection
		}
	}
	select {
	case <-conn.Refused:
	case <-time.After(10 * time.Second):
		t.Errorf("the server takes streams without end from a client that resets them")
	}
	hostingtest.Same(t, "the most handlers that ran at once on one connection", int64(maxStreams), c.most.Load())
}

func TestHandlersInProgressAreBounded(t *testing.T) {
	c := &counting{proceed: make(chan struct{})}
	l := limits.NewCalls()
	l.MaxRequests = 2
	server := serveOverTLS(t, c.handler(), l, 100)
	late := postTo(t, server, "20ms", podReview)
	hostingtest.Same(t, "the status of a late handler", http.StatusGatewayTimeout, late.StatusCode)
	hungUp, hangUp := context.WithCancel(t.Context())
	go func() {
		request, _ := http.NewRequestWithContext(hungUp, http.MethodPost, server.URL+"/pods", strings.NewReader(podReview))
		request.Header.Set("Content-Type", "application/json")
		if response, err := server.Client().Do(request); err == nil {
			response.Body.Close()
		}
	}()
	hostingtest.Eventually(t, "the second handler runs", func() bool { return c.running.Load() == 2 })
	hangUp()
	refused := postTo(t, server, "30s", podReview)
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") != "1" {
		t.Errorf("the third call is answered with HTTP %d, Retry-After %q", refused.StatusCode, refused.Header.Get("Retry-After"))
	}
	close(c.proceed)
	hostingtest.Eventually(t, "a call is taken again", func() bool { return postTo(t, server, "30s", podReview).StatusCode == http.StatusOK })
	hostingtest.Eventually(t, "nothing is counted any more", func() bool { return l.Requests() == 0 })
}

// An answer that its caller does not read takes memory.
func TestUnreadAnswersAreCounted(t *testing.T) {
	l := limits.NewCalls()
	l.MaxRequests = 4
	var returned atomic.Int64
	server := serveOverTLS(t, Validating(func(context.Context, Request[*corev1.Pod]) error {
		defer returned.Add(1)
		return Deny("%s", strings.Repeat("x", 1<<20))
	}), l, 100)
	conn, err := streams.Dial(t.Context(), server.Listener.Addr().String())
	hostingtest.Must(t, err)
	defer conn.Close()
	const length = 200 << 10
	for range l.MaxRequests {
		_, err := conn.Post("/pods?timeout=30s", []byte(podReview+strings.Repeat(" ", length-len(podReview))))
		hostingtest.Must(t, err)
	}
	hostingtest.Eventually(t, "all handlers have returned", func() bool { return returned.Load() == l.MaxRequests && l.DecodedMemory() == 0 })
	hostingtest.Same(t, "the status of another call while no answer is read", http.StatusTooManyRequests, postTo(t, server, "30s", podReview).StatusCode)
	if counted := l.BodyMemory(); counted < l.MaxRequests*(length-limits.UncountedBytes) {
		t.Errorf("%d bytes are counted for the bodies", counted)
	}
	conn.Close()
	hostingtest.Eventually(t, "nothing is counted", func() bool { return l.Requests() == 0 && l.BodyMemory() == 0 })
}

func TestMemoryGrowsWithTheBody(t *testing.T) {
	l := limits.NewCalls()
	server := serveOverTLS(t, Validating(admitPod), l, 100)
	const length = 6 << 20
	conn := beginBody(t, server, length, 0)
	hostingtest.Eventually(t, "the call is in progress", func() bool { return l.Requests() == 1 })
	hostingtest.Same(t, "the memory of a body of which nothing has arrived", int64(0), l.BodyMemory())
	const arrived = 1 << 20
	sendSpaces(conn, arrived)
	hostingtest.Eventually(t, "the body grows", func() bool { return l.BodyMemory() >= arrived-limits.UncountedBytes })
	if held := l.BodyMemory(); held > 2*arrived {
		t.Errorf("%d bytes of a body hold %d", arrived, held)
	}
	sendSpaces(conn, length-arrived)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	hostingtest.Must(t, err)
	response.Body.Close()
	hostingtest.Eventually(t, "the memory is given back", func() bool { return l.BodyMemory() == 0 && l.Requests() == 0 })
}

func TestABodyThatDoesNotFitIsRefusedAtOnce(t *testing.T) {
	l := limits.NewCalls()
	server := serveOverTLS(t, Validating(admitPod), l, 100)
	const length = 6 << 20
	for range 2 {
		beginBody(t, server, length, length-1)
	}
	hostingtest.Eventually(t, "two bodies are held", func() bool { return l.BodyMemory() > 2*(length-limits.UncountedBytes)-4 })
	held := l.BodyMemory()
	conn := beginBody(t, server, length, limits.UncountedBytes)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	hostingtest.Must(t, err)
	response.Body.Close()
	hostingtest.Same(t, "the status of the third call", http.StatusTooManyRequests, response.StatusCode)
	hostingtest.Same(t, "the memory of the bodies", held, l.BodyMemory())
}

func TestMemoryOfAllBodiesIsBounded(t *testing.T) {
	l := limits.NewCalls()
	server := serveOverTLS(t, Validating(admitPod), l, 100)
	const length = 7<<20 - 1<<10
	const many = 8
	var answered atomic.Int64 // before its body ends, a call is answered only to refuse it
	var conns []*tls.Conn
	for range many {
		conn := beginBody(t, server, length, length-1)
		conns = append(conns, conn)
		go func() {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				answered.Add(1)
			}
		}()
	}
	hostingtest.Eventually(t, "the bodies that fit are held and the others refused", func() bool {
		if memory := l.BodyMemory(); memory > limits.DefaultMaxBodyMemory {
			t.Fatalf("the bodies hold %d bytes, the limit is %d", memory, limits.DefaultMaxBodyMemory)
		}
		held := l.Requests()
		return held+answered.Load() == many && held > 0 && l.BodyMemory() == held*(length+1-limits.UncountedBytes)
	})
	hostingtest.Same(t, "the status for a small body", http.StatusOK, postTo(t, server, "30s", podReview).StatusCode)
	large := podReview + strings.Repeat(" ", length-len(podReview))
	if refused := postTo(t, server, "30s", large); refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") != "1" {
		t.Errorf("a large body is answered with HTTP %d, Retry-After %q", refused.StatusCode, refused.Header.Get("Retry-After"))
	}
	for _, conn := range conns {
		conn.Close()
	}
	hostingtest.Eventually(t, "a large body is read again", func() bool { return postTo(t, server, "30s", large).StatusCode == http.StatusOK })
}

func TestStoppedBodiesEndTheirConnection(t *testing.T) {
	server := serveOverTLS(t, Validating(admitPod), limits.NewCalls(), 100)
	const json = "Content-Type: application/json\r\n"
	for name, test := range map[string]struct {
		begin string
		want  string
	}{
		"a call":               {"POST /pods?timeout=300ms HTTP/1.1\r\n" + json, "HTTP/1.1 400 "},
		"a call of other type": {"POST /pods?timeout=300ms HTTP/1.1\r\n", "HTTP/1.1 415 "},
		"a call by PUT":        {"PUT /pods?timeout=300ms HTTP/1.1\r\n" + json, "HTTP/1.1 405 "},
		"a call of no time":    {"POST /pods?timeout=0s HTTP/1.1\r\n" + json, "HTTP/1.1 400 "},
		"HTTP/1.0":             {"POST /pods?timeout=300ms HTTP/1.0\r\nConnection: keep-alive\r\n" + json, "HTTP/1.0 400 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := hostingtest.DialTLS(t, server.Listener.Addr().String())
			fmt.Fprintf(conn, "%sHost: x\r\nContent-Length: 100\r\n\r\n{", test.begin)
			hostingtest.Must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
			answer, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(string(answer), test.want) {
				t.Errorf("the answer is %q, and then: %v", answer, err)
			}
		})
	}
}

func postTo(t *testing.T, server *httptest.Server, timeout, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/pods?timeout="+timeout, strings.NewReader(body))
	hostingtest.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(request)
	hostingtest.Must(t, err)
	response.Body.Close()
	return response
}

func beginBody(t *testing.T, server *httptest.Server, length, first int) *tls.Conn {
	t.Helper()
	conn := hostingtest.DialTLS(t, server.Listener.Addr().String())
	fmt.Fprintf(conn, "POST /pods?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
	sendSpaces(conn, first)
	return conn
}

func sendSpaces(conn *tls.Conn, n int) {
	_, _ = io.CopyN(conn, spaces{}, int64(n))
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
