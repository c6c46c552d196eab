package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// namespaces are the node's own. It shares the kernel, the file system and the control groups.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// startNode starts this program as the node and joins the networks. It calls ended when the node ends.
func startNode(ctx context.Context, l node.Layout, ended func(error)) error {
	log, err := os.Create(l.Log("node"))
	if err != nil {
		return err
	}
	defer log.Close()
	linked, link, err := os.Pipe()
	if err != nil {
		return err
	}
	defer linked.Close()
	defer link.Close() // what the node waits for, whether the link exists or is not to be
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       node.Args(l.Run),
		Dir:        "/",
		Stdout:     log,
		Stderr:     log,
		ExtraFiles: []*os.File{linked},
		// A session of its own: an interrupt at the terminal is not for the cluster.
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the node in new namespaces: %w (in a container, start it with --privileged)", err)
	}
	go func() {
		err := cmd.Wait()
		ended(fmt.Errorf("the node ended: %w%s", err, lastWords(l)))
	}()
	return addLink(ctx, cmd.Process.Pid)
}

// addLink joins the node's network to the machine's: tests on the machine reach pods and Services.
func addLink(ctx context.Context, pid int) error {
	for _, arguments := range [][]string{
		{"link", "add", node.Link, "type", "veth", "peer", "name", node.PeerLink, "netns", strconv.Itoa(pid)},
		{"address", "add", node.HostIP + node.LinkSubnet, "dev", node.Link},
		{"link", "set", node.Link, "up"},
		{"route", "add", node.PodCIDR, "via", node.IP},
		{"route", "add", node.ServiceCIDR, "via", node.IP},
		{"route", "add", node.APIServerCIDR, "via", node.IP},
	} {
		if err := node.RunProgram(ctx, "ip", arguments...); err != nil {
			return err
		}
	}
	return nil
}

func linkExists() bool {
	_, err := net.InterfaceByName(node.Link)
	return err == nil
}

// removeLink does not wait until the kernel removes the network namespace of a node that has ended.
func removeLink(ctx context.Context) error {
	if !linkExists() {
		return nil
	}
	if err := node.RunProgram(ctx, "ip", "link", "delete", node.Link); err != nil && linkExists() {
		return err
	}
	return nil
}
