package serving

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestHealthServerBoundsItsClients(t *testing.T) {
	for name, test := range map[string]struct {
		sent   string
		within time.Duration
		answer string
	}{
		"nothing":                {"", 6 * time.Second, ""},
		"headers without an end": {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n", 6 * time.Second, ""},
		"large headers":          {"GET /healthz HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: "+strings.Repeat("b", 900)+"\r\n", 30), time.Second, "HTTP/1.1 431"},
		"an idle connection":     {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 31 * time.Second, "HTTP/1.1 200"},
		"a body without an end":  {"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", 41 * time.Second, "HTTP/1.1 200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t, serveHealthOn(t))
				began := time.Now()
				go func() { _, _ = io.WriteString(conn, test.sent) }()
				answer, _ := io.ReadAll(conn)
				if took := time.Since(began); took > test.within {
					t.Errorf("the connection was held for %s", took)
				}
				if !strings.HasPrefix(string(answer), test.answer) {
					t.Errorf("the answer is %q", answer)
				}
			})
		})
	}
}

func TestHealthServerBoundsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := serveHealthOn(t)
		first := connect(t, listener)
		synctest.Wait()
		for range maxHealthConnections - 1 {
			connect(t, listener)
		}
		synctest.Wait()
		if n := listener.accepted; n != maxHealthConnections {
			t.Fatalf("%d connections are accepted", n)
		}
		conn := connect(t, listener)
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the first connection gives %v, want the end", err)
		}
	})
}

func serveHealthOn(t *testing.T) *pipes {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	mux := http.NewServeMux()
	HandleOwnPaths(mux, prometheus.NewRegistry(), nil)
	server, limited := NewHealthServer(listener, mux)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(limited) // ends with the test
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return listener
}

type pipes struct {
	conns    chan net.Conn
	closed   chan struct{}
	accepted int
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		p.accepted++
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
		return errors.New("closed twice")
	default:
		close(p.closed)
		return nil
	}
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// connect returns before the connection is accepted.
func connect(t *testing.T, to *pipes) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		select {
		case to.conns <- server:
		case <-to.closed:
		}
	}()
	t.Cleanup(func() { client.Close(); server.Close() })
	return client
}
