package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// cluster is an empty cluster, which ends with the test.
type cluster struct {
	*testing.T
	kubeconfig string
	programs   string // directory of ctr, kubectl and helm
	empty      []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("KUBECONFIG") != "" {
		t.Fatal("KUBECONFIG is set, and the test needs empty clusters: unset it, and the test builds its own")
	}
	if out, err := tool(t, "status"); err == nil {
		t.Fatalf("a cluster is up, and the test needs an empty one: take it down with \"make cluster-down\"\n%s", out)
	}
	mustTool(t, "up", "--install")
	t.Cleanup(func() { mustTool(t, "down") })
	c := &cluster{T: t, kubeconfig: strings.TrimSpace(mustTool(t, "kubeconfig")), programs: t.TempDir()}
	c.addPrograms(mustTool(t, "status"))
	c.empty = c.inventory()
	return c
}

var processOfNode = regexp.MustCompile(`nsenter --target (\d+) `)

// addPrograms adds kubectl, helm, and ctr as it is on a node: there, it needs no address.
func (c *cluster) addPrograms(status string) {
	c.Helper()
	match := processOfNode.FindStringSubmatch(status)
	helm := os.Getenv("HELM")
	if match == nil || helm == "" {
		c.Fatalf("HELM is %q, and the status of the cluster is\n%s\nRun the test by \"make release-test\", which sets HELM", helm, status)
	}
	bin := filepath.Join(filepath.Dir(c.kubeconfig), "bin")
	for name, line := range map[string]string{
		"ctr":     fmt.Sprintf("%s/ctr --address /proc/%s/root/run/containerd/containerd.sock", bin, match[1]),
		"kubectl": bin + "/kubectl",
		"helm":    helm,
	} {
		if err := os.WriteFile(filepath.Join(c.programs, name), []byte("#!/bin/sh\nexec "+line+" \"$@\"\n"), 0o755); err != nil {
			c.Fatal(err)
		}
	}
}

// inventory lists the objects that an installation could leave behind.
func (c *cluster) inventory() []string {
	c.Helper()
	const kinds = "namespaces,customresourcedefinitions,apiservices,validatingwebhookconfigurations,mutatingwebhookconfigurations," +
		"clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,secrets,configmaps,services,deployments,poddisruptionbudgets,networkpolicies"
	kubectl := exec.CommandContext(c.Context(), filepath.Join(c.programs, "kubectl"), "get", kinds, "-A", "--no-headers",
		"-o", "custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name")
	kubectl.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	output, err := kubectl.Output()
	if err != nil {
		c.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	slices.Sort(lines)
	return lines
}

// becomesEmpty waits until the cluster has the objects that it had at first: the deletion of a namespace takes time.
func (c *cluster) becomesEmpty() {
	c.Helper()
	var now []string
	isEmpty := func() bool {
		now = c.inventory()
		return slices.Equal(now, c.empty)
	}
	if poll(c.T, 2*time.Minute, isEmpty) {
		return
	}
	c.Errorf("after the uninstallation the cluster has other objects.\nMissing: %q\nLeft: %q", missing(c.empty, now), missing(now, c.empty))
}

// poll waits until a condition holds, and reports whether it did in time.
func poll(t *testing.T, limit time.Duration, holds func() bool) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// missing returns what the second list lacks.
func missing(from, in []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(line string) bool { return slices.Contains(in, line) })
}

func mustTool(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := tool(t, arguments...)
	if err != nil {
		t.Fatalf("cluster %q: %v\n%s", arguments, err, out)
	}
	return out
}

// tool runs a command of test/cluster. It also runs after the test, whose context has then ended.
func tool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command("go", append([]string{"run", "-C", root + "/test/cluster", "./cmd/cluster"}, arguments...)...)
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.CombinedOutput()
	return string(output), err
}
