package render

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestCertificateVolumes(t *testing.T) {
	const (
		added  = "apiservice-cert=manager-service-cert webhook-cert=manager-service-cert"
		mounts = "apiservice-cert@" + installtest.ServerCert + " webhook-cert@" + installtest.WebhookCert
		// in place of the author's mount
		mountsInPlace = "webhook-cert@" + installtest.WebhookCert + " apiservice-cert@" + installtest.ServerCert
	)
	for name, test := range map[string]struct {
		volumes     []corev1.Volume
		init        []corev1.Container
		manager     []corev1.VolumeMount
		sidecar     []corev1.VolumeMount
		wantVolumes string
		wantInit    string
		wantManager string
		wantSidecar string
	}{
		"nothing of the author's": {wantVolumes: added, wantManager: mounts, wantSidecar: mounts},
		"a volume in the place of the certificate": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert, ReadOnly: true}},
			wantVolumes: added, wantManager: mountsInPlace, wantSidecar: mounts,
		},
		"in the other place": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.ServerCert}},
			wantVolumes: added, wantManager: mounts, wantSidecar: mounts,
		},
		"in both places": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}, {Name: "cert", MountPath: installtest.ServerCert}},
			wantVolumes: added, wantManager: mountsInPlace, wantSidecar: mounts,
		},
		"in the place of every container": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}},
			sidecar:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}},
			wantVolumes: added, wantManager: mountsInPlace, wantSidecar: mountsInPlace,
		},
		"a trailing slash": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert + "/"}},
			wantVolumes: added, wantManager: mountsInPlace, wantSidecar: mounts,
		},
		"a volume that is mounted elsewhere, too": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "shared")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}},
			sidecar:     []corev1.VolumeMount{{Name: "cert", MountPath: "/elsewhere"}},
			wantVolumes: "cert=shared " + added, wantManager: mountsInPlace, wantSidecar: "cert@/elsewhere " + mounts,
		},
		"a volume below the place": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "kept")},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert + "/more"}},
			wantVolumes: "cert=kept " + added, wantManager: "cert@" + installtest.WebhookCert + "/more " + mounts, wantSidecar: mounts,
		},
		"a volume that nothing mounts": {
			volumes:     []corev1.Volume{installtest.Secret("spare", "kept")},
			wantVolumes: "spare=kept " + added, wantManager: mounts, wantSidecar: mounts,
		},
		"a volume of the same name": {
			volumes:     []corev1.Volume{installtest.Secret("webhook-cert", "absent"), installtest.Secret("z", "kept")},
			manager:     []corev1.VolumeMount{{Name: "webhook-cert", MountPath: installtest.WebhookCert}, {Name: "z", MountPath: "/z"}},
			wantVolumes: "webhook-cert=manager-service-cert z=kept apiservice-cert=manager-service-cert",
			wantManager: "webhook-cert@" + installtest.WebhookCert + " z@/z apiservice-cert@" + installtest.ServerCert, wantSidecar: mounts,
		},
		"a volume of the other name in the place": {
			volumes:     []corev1.Volume{installtest.Secret("apiservice-cert", "absent")},
			manager:     []corev1.VolumeMount{{Name: "apiservice-cert", MountPath: installtest.WebhookCert}},
			wantVolumes: added, wantManager: mountsInPlace, wantSidecar: mounts,
		},
		"an init container that looks for the certificate": {
			volumes: []corev1.Volume{installtest.Secret("cert", "absent")},
			init: []corev1.Container{
				{Name: "migrate"}, {Name: "wait", VolumeMounts: []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}}},
			},
			wantVolumes: added, wantInit: "webhook-cert@" + installtest.WebhookCert, wantManager: mounts, wantSidecar: mounts,
		},
		"an init container that mounts the volume elsewhere": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "shared")},
			init:        []corev1.Container{{Name: "make", VolumeMounts: []corev1.VolumeMount{{Name: "cert", MountPath: "/out"}}}},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}},
			wantVolumes: "cert=shared " + added, wantInit: "cert@/out", wantManager: mountsInPlace, wantSidecar: mounts,
		},
		"a block device of the author's": {
			volumes:     []corev1.Volume{installtest.Secret("cert", "device")},
			init:        []corev1.Container{{Name: "format", VolumeDevices: []corev1.VolumeDevice{{Name: "cert", DevicePath: "/dev/x"}}}},
			manager:     []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}},
			wantVolumes: "cert=device " + added, wantManager: mountsInPlace, wantSidecar: mounts,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
				pod := &d.Template.Spec
				pod.Volumes, pod.InitContainers = test.volumes, test.init
				pod.Containers = []corev1.Container{
					{Name: "manager", VolumeMounts: test.manager}, {Name: "sidecar", VolumeMounts: test.sidecar},
				}
			})
			pod := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager")))).Object.Spec.Template.Spec

			volumes := lists.Map(pod.Volumes, func(v corev1.Volume) string { return v.Name + "=" + v.Secret.SecretName })
			want := []string{test.wantVolumes, test.wantInit, test.wantManager, test.wantSidecar}
			got := []string{strings.Join(volumes, " "), mountsOf(pod.InitContainers...), mountsOf(pod.Containers[0]), mountsOf(pod.Containers[1])}
			installtest.Same(t, "volumes, mounts of init containers, of manager, of sidecar", want, got)
		})
	}
}

func mountsOf(containers ...corev1.Container) string {
	var all []string
	for _, c := range containers {
		for _, m := range c.VolumeMounts {
			all = append(all, m.Name+"@"+m.MountPath)
		}
	}
	return strings.Join(all, " ")
}

// Of the Secret, a pod sees only the leaf, its key and the CA, under the names that server libraries look for.
func TestCertificateVolumesShowOnlyWhatIsServed(t *testing.T) {
	d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))))
	got := map[string][]corev1.KeyToPath{}
	for _, v := range d.Object.Spec.Template.Spec.Volumes {
		got[v.Name] = v.Secret.Items
	}
	want := map[string][]corev1.KeyToPath{
		"webhook-cert":    {{Key: "tls.crt", Path: "tls.crt"}, {Key: "tls.key", Path: "tls.key"}, {Key: "ca.crt", Path: "ca.crt"}},
		"apiservice-cert": {{Key: "tls.crt", Path: "apiserver.crt"}, {Key: "tls.key", Path: "apiserver.key"}, {Key: "ca.crt", Path: "ca.crt"}},
	}
	installtest.Same(t, "items by volume", want, got)
}

func TestNoCertificateWithoutWebhooks(t *testing.T) {
	d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))))
	if pod := d.Object.Spec.Template.Spec; len(pod.Volumes)+len(pod.Containers[0].VolumeMounts) > 0 {
		t.Errorf("a Deployment without webhooks gets %v and mounts %q", pod.Volumes, mountsOf(pod.Containers...))
	}
	if d.Service != nil || d.Role != nil || d.RoleBinding != nil || d.SecretName != "" {
		t.Errorf("a Deployment without webhooks gets %+v", d)
	}
}

func TestDisplacedVolumes(t *testing.T) {
	pod := corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "cert"}, {Name: "webhook-cert"}, {Name: "config"},
		},
		Containers: []corev1.Container{{Name: "manager", VolumeMounts: []corev1.VolumeMount{
			{Name: "cert", MountPath: "/tmp/k8s-webhook-server/serving-certs"}, {Name: "config", MountPath: "/etc/config"},
		}}},
	}
	installtest.Same(t, "displaced", []string{"cert", "webhook-cert"}, DisplacedVolumes(pod))
}
