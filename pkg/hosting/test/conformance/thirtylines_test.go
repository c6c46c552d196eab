package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The program of docs/hosting.md, run as the page says.
func TestAWebhookIn30Lines(t *testing.T) {
	code := programOf(t, "../../../../docs/hosting.md")
	if lines := strings.Count(code, "\n"); lines > 30 {
		t.Errorf("it has %d lines", lines)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "team-label")
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}

	namespace, address := newNamespaceOf(t, "team-label"), newAddress()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program,
		"--cert-dir="+dir, "--self-signed-certificate", "--register-webhooks", "--webhook-url=https://"+address+":9443", "--kubeconfig="+cluster.Kubeconfig,
		"--bind-address="+address, "--health-bind-address=") // so as not to meet other tests
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client, _ := newClient(t)
	t.Cleanup(func() {
		_ = cmd.Wait() // the test's context has ended it
		if t.Failed() {
			t.Logf("its log:\n%s", log.String())
		}
		unregister(t, client, "team-label")
	})

	create := func(labels map[string]string) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart", Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "any"}}}}
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	eventually(t, "a pod without a team is denied", func() bool {
		return strings.Contains(fmt.Sprint(create(nil)), "denied the request: pod cart has no label team: say who owns it")
	})
	if err := create(map[string]string{"team": "shop"}); err != nil {
		t.Errorf("a pod with a team is not created: %v", err)
	}
}

// programOf returns the first Go program of a page.
func programOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```go\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no program", page)
	}
	return code
}
