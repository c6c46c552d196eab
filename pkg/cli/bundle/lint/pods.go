package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

type podError struct {
	field        string // of the pod's spec
	what, remedy string
}

// invalidPods ignores what the manager's certificate replaces.
func invalidPods(s *subject) []mistake {
	var all []mistake
	for _, d := range s.deployments() {
		written := d.Spec.Template.Spec
		started := written
		if s.serves(d) {
			started = render.WithCertificate(written, names.Secret(names.Service(d.Name)))
		}
		for _, f := range slices.Concat(repeatedVolumes(written, started), repeatedContainers(written), invalidMounts(written, started)) {
			all = append(all, s.inCSV(d.path+".spec.template.spec."+f.field, fmt.Sprintf("the API server refuses the Deployment %s: %s", d.Name, f.what), f.remedy))
		}
	}
	return all
}

func repeatedVolumes(written, started corev1.PodSpec) []podError {
	var all []podError
	for i, v := range written.Volumes {
		if hasVolume(written.Volumes[:i], v.Name) && hasVolume(started.Volumes, v.Name) {
			all = append(all, podError{fmt.Sprintf("volumes[%d].name", i), fmt.Sprintf("two volumes have the name %q", v.Name), "give each its own"})
		}
	}
	return all
}

func repeatedContainers(pod corev1.PodSpec) []podError {
	var all []podError
	seen := map[string]bool{}
	for _, c := range containersOf(pod) {
		if seen[c.Name] {
			all = append(all, podError{c.field + ".name", fmt.Sprintf("two containers have the name %q", c.Name), "give each its own"})
		}
		seen[c.Name] = true
	}
	return all
}

// invalidMounts leaves out the manager's own, which come after the author's or in their place.
func invalidMounts(written, started corev1.PodSpec) []podError {
	var all []podError
	authors := containersOf(written)
	for i, c := range containersOf(started) {
		for j, mount := range c.VolumeMounts[:len(authors[i].VolumeMounts)] {
			field := fmt.Sprintf("%s.volumeMounts[%d].", c.field, j)
			if !hasVolume(started.Volumes, mount.Name) {
				all = append(all, podError{field + "name", fmt.Sprintf("the container %s mounts the volume %q, which the pod does not have", c.Name, mount.Name), "add it to volumes, or remove the mount"})
			}
			if slices.ContainsFunc(c.VolumeMounts[:j], func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }) {
				all = append(all, podError{field + "mountPath", fmt.Sprintf("the container %s mounts two volumes at %s", c.Name, mount.MountPath), "give each a place of its own"})
			}
		}
	}
	return all
}

func hasVolume(volumes []corev1.Volume, name string) bool {
	return slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == name })
}

type container struct {
	corev1.Container
	field string
}

// running returns the containers that run as long as the pod.
func running(pod corev1.PodSpec) []container {
	return slices.DeleteFunc(containersOf(pod), func(c container) bool {
		return strings.HasPrefix(c.field, "init") && ptr.Deref(c.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways
	})
}

func containersOf(pod corev1.PodSpec) []container {
	var all []container
	for i, c := range pod.InitContainers {
		all = append(all, container{c, fmt.Sprintf("initContainers[%d]", i)})
	}
	for i, c := range pod.Containers {
		all = append(all, container{c, fmt.Sprintf("containers[%d]", i)})
	}
	return all
}
