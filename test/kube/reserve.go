package kube

import (
	"net"
	"testing"
)

// Reserve is a port of an address of this machine, for a program that asked to listen there. Until
// it does, connections are refused; and until the test ends, the kernel hands the port out to no client
// who asks for any, as it does with one that was merely found free.
//
// What keeps it is the accepted end of a connection, next to which others may listen.
func Reserve(t testing.TB, host string) *net.TCPAddr {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	must(err)
	defer listener.Close()
	dialled, err := new(net.Dialer).DialContext(t.Context(), "tcp4", listener.Addr().String())
	must(err)
	t.Cleanup(func() { dialled.Close() })
	accepted, err := listener.Accept()
	must(err)
	t.Cleanup(func() { accepted.Close() })
	return listener.Addr().(*net.TCPAddr)
}
