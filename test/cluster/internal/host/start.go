package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// namespaces are all that the node has of its own. What it shares with the machine
// are the kernel, the file system and the control groups.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// startNode starts this same program as the node and joins the networks. It calls
// ended if the node ends while the caller still waits for it.
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
