package connlimit_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// start serves two connections at most. A request for /wait, or a whole one for /body, lasts until release is sent to.
func start(t *testing.T) (server *httptest.Server, began, release chan struct{}) {
	t.Helper()
	began, release = make(chan struct{}), make(chan struct{})
	server = httptest.NewUnstartedServer(nil)
	limited := connlimit.New(server.Listener, 2)
	server.Listener, server.EnableHTTP2 = limited, true
	server.Config.ConnContext = connlimit.ConnContext
	server.Config.Handler = limited.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body": // reports the header, and the whole body
			began <- struct{}{}
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				began <- struct{}{}
				<-release
			}
		case "/wait":
			began <- struct{}{}
			<-release
		}
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, began, release
}

func dial(t *testing.T, server *httptest.Server) *tls.Conn {
	t.Helper()
	return hostingtest.DialTLS(t, server.Listener.Addr().String())
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	hostingtest.Must(t, err)
}

// isClosed waits until the server has closed a connection.
func isClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the server sent something")
	}
}

// HTTP/2 has several requests on one connection. The connection is busy until the last has ended.
func TestBusyConnectionsAreKept(t *testing.T) {
	server, began, release := start(t)
	client := server.Client()
	results := make(chan error, 2)
	get := func(path string) {
		response, err := client.Get(server.URL + path)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			hostingtest.Same(t, "the major version of HTTP", 2, response.ProtoMajor)
		}
		results <- err
	}
	for range 2 {
		go get("/wait")
		<-began
	}
	release <- struct{}{} // one of the two requests ends
	hostingtest.Must(t, <-results)

	first := dial(t, server)
	dial(t, server) // takes the place of the first: the other connection is busy
	isClosed(t, first)
	release <- struct{}{}
	hostingtest.Must(t, <-results) // of the request in progress
}

// Connections that announce a body and do not send it make room, and connections that send theirs stay.
func TestConnectionsWithoutTheirBody(t *testing.T) {
	server, began, release := start(t)
	post := func(path string) *tls.Conn {
		conn := dial(t, server)
		send(t, conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab")
		<-began
		return conn
	}
	first, second := post("/body"), post("/body")
	send(t, first, "c") // it is whole now
	<-began
	send(t, dial(t, server), "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	isClosed(t, second)
	release <- struct{}{}
	release <- struct{}{}
	if response, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the request that was whole is not answered: %v", err)
	}
}

// A request of HTTP/2 whose stream has not ended is not whole, also when it announces no body.
func TestOpenStreamsMakeRoom(t *testing.T) {
	for _, length := range []int{0, 100} {
		t.Run(fmt.Sprintf("%d bytes announced", length), func(t *testing.T) {
			server, began, release := start(t)
			var open []*streams.Conn
			for range 2 {
				conn := dialHTTP2(t, server)
				_, err := conn.Open("/body", length)
				hostingtest.Must(t, err)
				<-began
				open = append(open, conn)
			}
			response := make(chan error, 1)
			go func() {
				answer, err := server.Client().Get(server.URL + "/wait")
				if err == nil {
					answer.Body.Close()
				}
				response <- err
			}()
			select {
			case <-began:
				release <- struct{}{}
			case err := <-response:
				t.Fatalf("a whole request is refused: %v", err)
			}
			for open[0].Ping() == nil {
				continue // until the server has closed the connection
			}
			hostingtest.Must(t, <-response)
		})
	}
}

// One whole request keeps its connection of HTTP/2, although the body of another one has not come.
func TestOneWholeRequestKeepsItsConnection(t *testing.T) {
	server, began, release := start(t)
	conn := dialHTTP2(t, server)
	_, err := conn.Post("/body", []byte("abc"))
	hostingtest.Must(t, err)
	<-began
	<-began
	_, err = conn.Open("/body", 100)
	hostingtest.Must(t, err)
	<-began
	first := dial(t, server)
	dial(t, server) // closes the first, which is younger than the connection of HTTP/2
	isClosed(t, first)
	hostingtest.Error(t, "", conn.Ping())
	release <- struct{}{}
}

func dialHTTP2(t *testing.T, server *httptest.Server) *streams.Conn {
	t.Helper()
	conn, err := streams.Dial(t.Context(), server.Listener.Addr().String())
	hostingtest.Must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// When all connections are busy, a new one is closed at once.
func TestNoRoomForAnotherConnection(t *testing.T) {
	server, began, release := start(t)
	for range 2 {
		send(t, dial(t, server), "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		<-began
	}
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	hostingtest.Must(t, err)
	defer conn.Close()
	isClosed(t, conn)
	release <- struct{}{}
	release <- struct{}{}
}
