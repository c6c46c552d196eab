package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// restarted are the programs of test/cluster that a loss of all nodes stops. The API server and etcd run on.
var restarted = []string{"kubelet", "kube-controller-manager", "kube-scheduler"}

// loseAllPods stops the controller manager, the scheduler and the kubelet, ends all containers, deletes all pods and starts the
// programs again. It returns the deleted pods.
func loseAllPods(e *env) sets.Set[types.UID] {
	e.Helper()
	tool := clusterTool(e)
	for _, name := range restarted {
		runs(e, exec.CommandContext(e.ctx, tool, "component", "stop", name))
		// Also if the test ends here: other tests use the cluster.
		defer func() {
			runs(e, exec.CommandContext(context.WithoutCancel(e.ctx), tool, "component", "start", name))
		}()
	}
	for _, pid := range processes(e, func(dir string) bool { return strings.Contains(read(dir, "cgroup"), ":/kubepods/") }) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended with its container.
	}
	lost := sets.New[types.UID]()
	for _, pod := range kube.List(e, kubeClient.CoreV1().Pods(metav1.NamespaceAll), metav1.ListOptions{}).Items {
		lost.Insert(pod.UID)
		e.must(kubeClient.CoreV1().Pods(pod.Namespace).Delete(e.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	}
	return lost
}

// runDirectory has the files of the cluster of test/cluster.
const runDirectory = "/run/olm-webhook-manager/"

// programOf returns the process of a program of test/cluster, or 0.
func programOf(e *env, name string) int {
	e.Helper()
	found := processes(e, func(dir string) bool {
		program, arguments, _ := strings.Cut(read(dir, "cmdline"), "\x00")
		return filepath.Base(program) == name && strings.Contains(arguments, runDirectory)
	})
	if len(found) > 1 {
		e.Fatalf("%d processes are %s", len(found), name)
	}
	return append(found, 0)[0]
}

func processes(e *env, match func(dir string) bool) []int {
	e.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	e.must(err)
	var found []int
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && match(dir) {
			found = append(found, pid)
		}
	}
	return found
}

// read is empty for a process that has ended.
func read(dir, file string) string {
	content, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(content))
}
