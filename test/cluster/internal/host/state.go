// Package host is the outside of the cluster: what happens on the machine so that
// a node comes up in namespaces of its own, is found again, and is removed completely.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/api"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// Phase is the state of the cluster in one word.
type Phase string

const (
	// Down means that there is nothing of a cluster.
	Down Phase = "down"
	// Broken means that there is something, but not a cluster that works.
	Broken Phase = "broken"
	// Up means that the node is Ready.
	Up Phase = "up"
)

// State is what the machine shows of the cluster.
type State struct {
	Phase  Phase
	Reason string // why it is broken
	PID    int    // the node's process, if there is one
	Layout node.Layout
}

// Observe reads the processes, the files and the API server.
func Observe(ctx context.Context, run string) State {
	layout, unopened := node.Open(run)
	state := State{Phase: Down, PID: findNode(run), Layout: layout}
	if !remains(run) {
		return state
	}
	state.Phase = Broken
	if state.PID == 0 {
		state.Reason = "its processes have ended" + lastWords(layout)
		return state
	}
	if unopened != nil {
		state.Reason = unopened.Error()
		return state
	}
	if err := healthy(ctx, state); err != nil {
		state.Reason = err.Error()
		return state
	}
	state.Phase = Up
	return state
}

// remains ignores the control groups of pods: they might be another kubelet's.
func remains(run string) bool {
	_, err := os.Stat(run)
	return err == nil || findNode(run) != 0 || linkExists()
}

// patience is how long a cluster may be too busy to answer before it counts as broken.
const patience = 15 * time.Second

func healthy(ctx context.Context, state State) error {
	client, err := node.NewClient(state.Layout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	return api.Poll(ctx, func(ctx context.Context) error {
		if hasEnded(state.PID) {
			giveUp(errors.New("its processes have ended" + lastWords(state.Layout)))
		}
		if err := client.Ready(ctx); err != nil {
			return err
		}
		return client.NodeReady(ctx, node.Name)
	})
}

// lastWords is the last line that the node wrote, which contains the reason why it ended.
func lastWords(l node.Layout) string {
	log, err := os.ReadFile(l.Log("node"))
	if err != nil || len(log) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return fmt.Sprintf(" (%s)", lines[len(lines)-1])
}

// RunDir is the directory of everything of the running cluster. It is fixed: a machine has one cluster.
func RunDir(getenv func(string) string) string {
	if dir := getenv("OWM_RUN"); dir != "" {
		return filepath.Clean(dir)
	}
	return "/run/olm-webhook-manager"
}

// External returns the KUBECONFIG of the caller if it names a cluster of the caller's own, and not the
// one that BringUp wrote.
func External(getenv func(string) string) (kubeconfig string, ok bool) {
	kubeconfig = getenv("KUBECONFIG")
	own := node.Layout{Run: RunDir(getenv)}.Kubeconfig()
	return kubeconfig, kubeconfig != "" && filepath.Clean(kubeconfig) != own
}
