package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What the API server defaults inside a list that is compared as a whole is written
// out, because it would differ for ever.
func TestListDefaultsAreWrittenOut(t *testing.T) {
	field := func(version string) *corev1.ObjectFieldSelector {
		return &corev1.ObjectFieldSelector{APIVersion: version, FieldPath: "metadata.name"}
	}
	pod := func(protocol corev1.Protocol, version string, expiration *int64, optional *bool) corev1.PodSpec {
		variables := []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: field(version)}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k", Optional: optional}}},
			{Name: "C", Value: "c"},
		}
		ports := []corev1.ContainerPort{{ContainerPort: 80, Protocol: protocol}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
		files := []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: field(version)}, {Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
		return corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Ports: ports, Env: variables}},
			Containers:     []corev1.Container{{Name: "manager", Ports: ports, Env: variables}},
			Volumes: []corev1.Volume{
				{Name: "downward", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: files}}},
				{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: expiration}},
					{DownwardAPI: &corev1.DownwardAPIProjection{Items: files}},
					{Secret: &corev1.SecretProjection{}},
				}}}},
				{Name: "empty"},
			},
		}
	}
	for name, test := range map[string]struct{ author, want corev1.PodSpec }{
		"left open":   {pod("", "", nil, nil), pod("TCP", "v1", new(int64(3600)), new(false))},
		"written out": {pod("SCTP", "v2", new(int64(600)), new(true)), pod("SCTP", "v2", new(int64(600)), new(true))},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.author.DeepCopy()
			writeOutListDefaults(got)
			installtest.Same(t, "pod", &test.want, got)
		})
	}
}
