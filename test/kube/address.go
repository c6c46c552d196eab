package kube

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// Ports of the servers, below the ones that the kernel hands out to clients.
const (
	apiServerPort  = "16443" // further API servers have the next ones
	etcdClientPort = "12379"
	etcdPeerPort   = "12380"
)

// addressOf returns a loopback address for one process alone: a process ID fits into the last 22 bits of 127.0.0.0/8.
// Another process cannot take its ports, as it can take a free port before the server does.
func addressOf(pid int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 64 | byte(pid>>16)&63, byte(pid >> 8), byte(pid)})
}

// Reserve returns a port on which a program can listen. Until it listens, connections are refused. Until the test ends,
// the kernel gives the port to no other program: a connection has been accepted on it, which does not prevent listening.
func Reserve(t testing.TB, host string) *net.TCPAddr {
	t.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	must(t, err)
	defer listener.Close()
	dialled, err := new(net.Dialer).DialContext(t.Context(), "tcp4", listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { dialled.Close() })
	accepted, err := listener.Accept()
	must(t, err)
	t.Cleanup(func() { accepted.Close() })
	return listener.Addr().(*net.TCPAddr)
}

// Outside is an address of this machine that an endpoint may have: a loopback address may not.
func Outside() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, address := range addresses {
		if ip, _, err := net.ParseCIDR(address.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String(), nil
		}
	}
	return "", errors.New("this machine has loopback addresses alone, which an endpoint may not have: give it another (ip link add dummy0 type dummy; ip address add 192.0.2.2/32 dev dummy0)")
}
