package node

import (
	"context"
	"os"
)

// joinNetwork brings up the node's end of the link, which the machine has moved in.
func joinNetwork(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", IP + LinkSubnet, "dev", PeerLink},
		{"link", "set", PeerLink, "up"},
		// There must be a route to a Service's address before nftables can rewrite it.
		{"route", "add", ServiceCIDR, "dev", PeerLink, "src", IP},
	} {
		if err := run(ctx, "ip", arguments...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
