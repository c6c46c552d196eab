//go:build cluster

package prove

import (
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestCluster(t *testing.T) {
	c := newTool(t)
	if out, err := c.try(t, "status"); err == nil || !strings.Contains(out, "no cluster is up") {
		t.Fatalf("there is a cluster, take it down first: %s", out)
	}
	c.run(t, "up", "--install") // what it installs stays, and belongs into the picture
	c.run(t, "down")
	before := picture(t)

	t.Run("up", func(t *testing.T) {
		t.Log("\n" + c.run(t, "up"))
	})
	t.Run("up again leaves it as it is", func(t *testing.T) {
		if out := c.run(t, "up"); !strings.Contains(out, "the cluster is up already") {
			t.Errorf("up reports:\n%s", out)
		}
	})
	t.Run("pods start", func(t *testing.T) {
		c.kubectl(t, "apply", "-f", "testdata/pods.yaml")
		c.kubectl(t, "rollout", "status", "deployment/pause", "--timeout=90s")
	})
	t.Run("components that are stopped and started", func(t *testing.T) {
		for _, order := range []string{"stop", "start"} {
			for _, name := range []string{"kubelet", "kube-controller-manager", "kube-scheduler"} {
				c.run(t, "component", order, name)
			}
		}
		c.kubectl(t, "delete", "pods", "--all", "--wait")
		c.kubectl(t, "rollout", "status", "deployment/pause", "--timeout=90s")
	})
	t.Run("up again after a component has ended", func(t *testing.T) {
		must(t, syscall.Kill(kubeletPID(t, c), syscall.SIGTERM))
		eventually(t, "the status reports what has ended", func() bool {
			out, err := c.try(t, "status")
			return err != nil && strings.Contains(out, "kubelet ended")
		})
		t.Log("\n" + c.run(t, "up"))
		c.kubectl(t, "get", "node")
	})
	t.Run("down leaves nothing", func(t *testing.T) {
		t.Log("\n" + c.run(t, "down"))
		after := picture(t)
		for what := range before {
			if !reflect.DeepEqual(before[what], after[what]) {
				t.Errorf("%s were\n  %s\nand are\n  %s", what, strings.Join(before[what], "\n  "), strings.Join(after[what], "\n  "))
			}
		}
	})
	t.Run("down again finds nothing", func(t *testing.T) {
		if out := c.run(t, "down"); !strings.Contains(out, "No cluster is up") {
			t.Errorf("down reports:\n%s", out)
		}
	})
}

func kubeletPID(t *testing.T, c tool) int {
	t.Helper()
	pids := strings.Fields(output(t, "pgrep", "--full", "/kubelet --config="+c.layout.Conf("kubelet.yaml")))
	if len(pids) != 1 {
		t.Fatalf("the kubelet is not one process: %v", pids)
	}
	pid, err := strconv.Atoi(pids[0])
	must(t, err)
	return pid
}
