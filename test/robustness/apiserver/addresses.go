package apiserver

import (
	"net"
	"sync/atomic"

	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
)

// addresses allocates addresses for Services. An address is never used twice, and every address that a client chooses is free.
type addresses struct{ last atomic.Uint32 }

var serviceNetwork = net.IPNet{IP: net.IPv4(10, 96, 0, 0).To4(), Mask: net.CIDRMask(12, 32)}

func (a *addresses) AllocateNext() (net.IP, error) {
	n := a.last.Add(1)
	return net.IPv4(10, 96+byte(n>>16)&15, byte(n>>8), byte(n)), nil
}

func (a *addresses) Allocate(ip net.IP) error {
	if serviceNetwork.Contains(ip) {
		return nil
	}
	return &ipallocator.ErrNotInRange{IP: ip, ValidRange: serviceNetwork.String()}
}

func (*addresses) Release(net.IP) error            { return nil }
func (*addresses) ForEach(func(net.IP))            {}
func (*addresses) CIDR() net.IPNet                 { return serviceNetwork }
func (*addresses) IPFamily() core.IPFamily         { return core.IPv4Protocol }
func (*addresses) Has(net.IP) bool                 { return true }
func (*addresses) Destroy()                        {}
func (*addresses) EnableMetrics()                  {}
func (a *addresses) DryRun() ipallocator.Interface { return a }

// ports allocates node ports in the same way.
type ports struct{ last atomic.Int32 }

func (p *ports) AllocateNext() (int, error) { return 30000 + int(p.last.Add(1))%2768, nil }
func (*ports) Allocate(int) error           { return nil }
func (*ports) Release(int) error            { return nil }
func (*ports) ForEach(func(int))            {}
func (*ports) Has(int) bool                 { return true }
func (*ports) Destroy()                     {}
func (*ports) EnableMetrics()               {}
