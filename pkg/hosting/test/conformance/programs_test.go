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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// The sample runs the program of examples/volumelabels.
func TestStaticPod(t *testing.T) {
	data, err := os.ReadFile("../../testdata/static-pod.yaml")
	hostingtest.Must(t, err)
	var pod corev1.Pod
	hostingtest.Must(t, yaml.UnmarshalStrict(data, &pod))
	client := newClient(t)
	hostingtest.Eventually(t, "the API server takes the pod", func() bool {
		// The API server may not have created the priority class yet.
		_, err = client.CoreV1().Pods(pod.Namespace).Create(t.Context(), &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil || !strings.Contains(err.Error(), "PriorityClass")
	})
	hostingtest.Must(t, err)
	runSample(t, pod.Spec.Containers[0].Args)

	t.Cleanup(func() { unregister(t, "volumelabels") })
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.example.com", VolumeHandle: "vol-1"}},
		},
	}
	hostingtest.Eventually(t, "a volume is labelled in line", func() bool {
		made, err := client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && made.Labels[corev1.LabelTopologyZone] == "north-1"
	})
}

// runSample runs the program with the test's directories and address in place of those of the node.
func runSample(t *testing.T, args []string) {
	t.Helper()
	dir := t.TempDir()
	program, err := programs.Path(programs.VolumeLabels)
	hostingtest.Must(t, err)
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig)
	hostingtest.Must(t, err)
	for file, content := range map[string]string{
		"kubeconfig":   string(kubeconfig),
		"volumes.yaml": "volumes: [{driver: disk.csi.example.com, handle: vol-1, labels: {topology.kubernetes.io/zone: north-1}}]",
	} {
		hostingtest.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
	}
	here := strings.NewReplacer("127.0.0.1", newAddress(), "/etc/volumelabels", dir, "/certs", filepath.Join(dir, "certs"))
	var own []string
	for _, arg := range args {
		own = append(own, here.Replace(arg))
	}
	startProgram(t, program, own...)
}

// startProgram starts a program that ends with the test. If the test fails, it prints the program's log.
func startProgram(t *testing.T, program string, arguments ...string) (pid int) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Stdout, cmd.Stderr = &log, &log
	hostingtest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("its log:\n%s", log.String())
		}
	})
	return cmd.Process.Pid
}

func TestAWebhookIn30Lines(t *testing.T) {
	startQuickStart(t)
	namespace, client := newNamespace(t, "team-label")

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
	t.Cleanup(func() { unregister(t, "team-label") })
	pid = startProgram(t, program,
		"--cert-dir="+dir, "--self-signed-certificate", "--register-webhooks", "--webhook-url=https://"+address+":9443", "--kubeconfig="+cluster.Kubeconfig,
		"--bind-address="+address, "--health-bind-address=")
	return address, pid
}
