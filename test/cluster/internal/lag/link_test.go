package lag

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const readPath = "/etcdserverpb.KV/Range"

func TestLink(t *testing.T) {
	events := make(chan string)
	link, address := start(t, events)

	watch := post(t, address+watchPath)
	events <- "a"
	wantNext(t, watch, "a")

	link.Hold()
	if !link.Held() {
		t.Error("the link is not held after Hold")
	}
	events <- "b"
	next := make(chan string, 1)
	go func() { next <- read(watch) }()
	if got := read(post(t, address+readPath)); got != "stored" {
		t.Errorf("a read through a held link is answered %q, want %q", got, "stored")
	}
	select {
	case got := <-next:
		t.Errorf("a held link forwarded the event %q", got)
	case <-time.After(200 * time.Millisecond):
	}

	link.Release()
	if got := <-next; got != "b" {
		t.Errorf("the event after Release is %q, want %q", got, "b")
	}
	events <- "c"
	wantNext(t, watch, "c")
}

// A trailer has the status of each gRPC call.
func TestLinkForwardsTrailers(t *testing.T) {
	_, address := start(t, nil)
	response := do(t, address+readPath)
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if got := response.Trailer.Get("Grpc-Status"); got != "0" {
		t.Errorf("the trailer Grpc-Status is %q, want 0", got)
	}
}

// start starts a link to a server that answers a read at once, and a watch with events.
func start(t *testing.T, events <-chan string) (*Link, string) {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.HandleFunc(readPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.WriteString(w, "stored")
		w.Header().Set("Grpc-Status", "0")
	})
	mux.HandleFunc(watchPath, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-events:
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	etcd := listen(t)
	server := &http.Server{Handler: mux, Protocols: protocols}
	go func() { _ = server.Serve(etcd) }()
	t.Cleanup(func() { server.Close() })
	link, listener := New(etcd.Addr().String()), listen(t)
	go func() { _ = link.Serve(listener) }()
	return link, "http://" + listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func do(t *testing.T, url string) *http.Response {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{Protocols: protocols}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func post(t *testing.T, url string) io.Reader {
	t.Helper()
	return do(t, url).Body
}

func read(r io.Reader) string {
	buffer := make([]byte, 100)
	n, _ := r.Read(buffer)
	return string(buffer[:n])
}

func wantNext(t *testing.T, watch io.Reader, want string) {
	t.Helper()
	if got := read(watch); got != want {
		t.Errorf("the next event is %q, want %q", got, want)
	}
}
