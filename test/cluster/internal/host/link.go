package host

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// addLink joins the node's network to the machine's and routes pods and Services
// over it, so that tests on the machine reach both.
func addLink(ctx context.Context, pid int) error {
	for _, arguments := range [][]string{
		{"link", "add", node.Link, "type", "veth", "peer", "name", node.PeerLink, "netns", strconv.Itoa(pid)},
		{"address", "add", node.HostIP + node.LinkSubnet, "dev", node.Link},
		{"link", "set", node.Link, "up"},
		{"route", "add", node.PodCIDR, "via", node.IP},
		{"route", "add", node.ServiceCIDR, "via", node.IP},
	} {
		if err := ip(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

func linkExists() bool {
	_, err := net.InterfaceByName(node.Link)
	return err == nil
}

// removeLink does not wait until the kernel gets to the network namespace of a
// node that has ended, which is some time later.
func removeLink(ctx context.Context) error {
	if !linkExists() {
		return nil
	}
	if err := ip(ctx, "link", "delete", node.Link); err != nil && linkExists() {
		return err
	}
	return nil
}

func ip(ctx context.Context, arguments ...string) error {
	output, err := exec.CommandContext(ctx, "ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
