package balance

import (
	"io"
	"net"
	"reflect"
	"testing"
)

func TestBalancer(t *testing.T) {
	a, b, closed := serve(t, "a"), serve(t, "b"), listen(t)
	closed.Close()
	for name, tc := range map[string]struct{ servers, want []string }{
		"each connection goes to the next server": {[]string{a, b}, []string{"a", "b", "a", "b"}},
		"a server that refuses is left out":       {[]string{closed.Addr().String(), b}, []string{"b", "b", "b", "b"}},
		"without a server, connections end":       {nil, []string{"", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var balancer Balancer
			balancer.SetServers(tc.servers)
			listener := listen(t)
			go balancer.Serve(listener)
			var got []string
			for range tc.want {
				got = append(got, answer(t, listener.Addr().String()))
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("the answers are %q, want %q", got, tc.want)
			}
		})
	}
}

// serve starts a server that answers every connection with its name.
func serve(t *testing.T, name string) string {
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, name)
			conn.Close()
		}
	}()
	return listener.Addr().String()
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

func answer(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}
