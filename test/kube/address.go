package kube

import "net/netip"

// Ports of the servers, below the ones that the kernel hands out to clients.
const (
	apiServerPort  = "16443"
	etcdClientPort = "12379"
	etcdPeerPort   = "12380"
)

// addressOf returns a loopback address that belongs to one process alone: all of
// 127.0.0.0/8 is the machine itself, and a process ID fits into the last 22 bits. So
// packages that are tested at the same time need not look for free ports, which
// another process may take before the server does.
func addressOf(pid int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 64 | byte(pid>>16)&63, byte(pid >> 8), byte(pid)})
}
