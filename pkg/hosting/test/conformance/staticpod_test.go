package conformance

import (
	"bytes"
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
	client, _ := newClient(t)
	hostingtest.Eventually(t, "the API server takes the pod", func() bool {
		// The API server may not have created the priority class yet.
		_, err = client.CoreV1().Pods(pod.Namespace).Create(t.Context(), &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil || !strings.Contains(err.Error(), "PriorityClass")
	})
	hostingtest.Must(t, err)
	runSample(t, pod.Spec.Containers[0].Args)

	t.Cleanup(func() { unregister(t, client, "volumelabels") })
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
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, own...)
	cmd.Stdout, cmd.Stderr = &log, &log
	hostingtest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("its log:\n%s", log.String())
		}
	})
}
