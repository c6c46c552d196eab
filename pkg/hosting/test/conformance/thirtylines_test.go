package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

func TestAWebhookIn30Lines(t *testing.T) {
	startQuickStart(t)
	namespace := newNamespaceOf(t, "team-label")
	client, _ := newClient(t)

	create := func(labels map[string]string) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart", Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "any"}}}}
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	hostingtest.Eventually(t, "a pod without a team is denied", func() bool {
		return strings.Contains(fmt.Sprint(create(nil)), "denied the request: pod cart has no label team: say who owns it")
	})
	if err := create(map[string]string{"team": "shop"}); err != nil {
		t.Errorf("a pod with a team is not created: %v", err)
	}
}

// startQuickStart runs the program of docs/author/hosting.md as the page says.
func startQuickStart(t *testing.T) (address string, pid int) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/author/hosting.md")
	hostingtest.Must(t, err)
	code, err := programs.ProgramOf(string(page))
	hostingtest.Must(t, err)
	if lines := strings.Count(code, "\n"); lines > 30 {
		t.Errorf("it has %d lines", lines)
	}
	dir := t.TempDir()
	program, err := programs.Path(programs.TeamLabel)
	hostingtest.Must(t, err)
	address = newAddress()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program,
		"--cert-dir="+dir, "--self-signed-certificate", "--register-webhooks", "--webhook-url=https://"+address+":9443", "--kubeconfig="+cluster.Kubeconfig,
		"--bind-address="+address, "--health-bind-address=")
	cmd.Stdout, cmd.Stderr = &log, &log
	hostingtest.Must(t, cmd.Start())
	client, _ := newClient(t)
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("its log:\n%s", log.String())
		}
		unregister(t, client, "team-label")
	})
	return address, cmd.Process.Pid
}
