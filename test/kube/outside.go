package kube

import (
	"errors"
	"net"
)

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
