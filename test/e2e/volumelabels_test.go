package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// PersistentVolumes get their labels when they are created. The controller labels the ones that are older than the
// webhook, or were created while it was off. Each as one process and as two.
func TestVolumeLabels(t *testing.T) {
	t.Parallel()
	const files = "examples/volumelabels"
	e := newExample(t, "volumelabels", files+"/install")
	e.kubectl("apply", "--server-side", "-k", files+"/install")
	e.Cleanup(e.deleteVolumes)

	for _, test := range []struct{ bundle, csv string }{
		{"bundle-two-processes", "volumelabels-two-processes.v0.1.0"},
		{"bundle-one-process", "volumelabels-one-process.v0.1.0"},
	} {
		isUnlabelled(e, createVolume(e, "older", "vol-0002"))
		applyBundle(e, files+"/"+test.bundle, test.csv)
		isLabelledLater(e, "older", "north-2")

		installtest.Same(t, test.csv+": the zone of a PersistentVolume", "north-1", createVolume(e, "in-line", "vol-0001").Labels[corev1.LabelTopologyZone])
		isUnlabelled(e, createVolume(e, "unknown", "vol-9999"))
		sampleIsLabelled(e, "persistentvolume.yaml", "north-1")
		sampleIsLabelled(e, "persistentvolume-unknown.yaml", "")

		switchOn := switchOff(e, test.csv)
		isUnlabelled(e, createVolume(e, "while-off", "vol-0001"))
		isLabelledLater(e, "while-off", "north-1")
		switchOn()

		e.kubectl("delete", "csv", test.csv, "-n", e.namespace, "--wait")
		isUnlabelled(e, createVolume(e, "later", "vol-0001"))
		e.deleteVolumes()
	}
}

// sampleIsLabelled asks in which zone a sample would be created, none if zone is empty.
func sampleIsLabelled(e *env, sample, zone string) {
	e.Helper()
	installtest.Same(e, "the zone of "+sample, zone, zoneOf(e, sample))
}

func zoneOf(e *env, sample string) string {
	e.Helper()
	zone, err := kubectl(e.ctx, "create", "--dry-run=server", "-f", "examples/volumelabels/samples/"+sample,
		"-o", `jsonpath={.metadata.labels.topology\.kubernetes\.io/zone}`)
	e.must(err)
	return zone
}

// switchOff has the webhook unregistered as an administrator does, by the sample
// of a Subscription, and returns when no client calls it any more.
func switchOff(e *env, csv string) (switchOn func()) {
	e.Helper()
	const sample, webhook = "examples/volumelabels/samples/webhook-off.yaml", "the webhook of volumelabels"
	e.kubectl("apply", "-n", e.namespace, "-f", sample)
	e.kubectl("patch", "-n", e.namespace, "subscription.operators.coreos.com/volumelabels", "--type=merge", "-p", `{"spec":{"startingCSV":"`+csv+`"}}`)
	becomes(e, webhook+" is off", func() int { return len(e.registrations()) }, 0)
	becomes(e, "the API server does not call "+webhook+" any more", func() string { return zoneOf(e, "persistentvolume.yaml") }, "")
	return func() {
		e.Helper()
		e.kubectl("delete", "-n", e.namespace, "-f", sample)
		becomes(e, webhook+" is on again", func() int { return len(e.registrations()) }, 1)
	}
}

const volumeLabel = "e2e.example.com/namespace"

func createVolume(e *env, name, handle string) *corev1.PersistentVolume {
	e.Helper()
	created := kube.Create(e, kubeClient.CoreV1().PersistentVolumes(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-" + name, Labels: map[string]string{volumeLabel: e.namespace}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.example.com", VolumeHandle: handle},
			},
		},
	})
	return created
}

func isUnlabelled(e *env, volume *corev1.PersistentVolume) {
	e.Helper()
	if len(volume.Labels) > 1 {
		e.Errorf("PersistentVolume %s is created with labels %v", volume.Name, volume.Labels)
	}
}

func isLabelledLater(e *env, name, zone string) {
	e.Helper()
	e.eventually("the controller labels PersistentVolume "+name, func() (bool, any) {
		volume := kube.Get(e, kubeClient.CoreV1().PersistentVolumes(), e.namespace+"-"+name)
		return volume.Labels[corev1.LabelTopologyZone] == zone, volume.Labels
	})
}

func (e *env) deleteVolumes() {
	e.Helper()
	client := kubeClient.CoreV1().PersistentVolumes()
	created := metav1.ListOptions{LabelSelector: volumeLabel + "=" + e.namespace}
	e.must(client.DeleteCollection(e.ctx, metav1.DeleteOptions{}, created))
	becomes(e, "the PersistentVolumes no longer exist", func() int { return len(kube.List(e, client, created).Items) }, 0)
}
