package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// invalidPods ignores what the manager's certificate replaces.
func invalidPods(s *subject, d deployment, report reporter) {
	written := d.Spec.Template.Spec
	started := written
	if s.serving[d.Name] {
		started = render.WithCertificate(written, names.Secret(names.Service(d.Name)))
	}
	refused := func(field, what, remedy string) {
		report("spec.template.spec."+field, fmt.Sprintf("the API server refuses the Deployment %s: %s", d.Name, what), remedy)
	}
	repeatedNames(written, started, refused)
	invalidMounts(written, started, refused)
}

func repeatedNames(written, started corev1.PodSpec, refused reporter) {
	for i, v := range written.Volumes {
		if hasVolume(written.Volumes[:i], v.Name) && hasVolume(started.Volumes, v.Name) {
			refused(fmt.Sprintf("volumes[%d].name", i), fmt.Sprintf("two volumes have the name %q", v.Name), "give each its own")
		}
	}
	seen := map[string]bool{}
	for _, c := range containersOf(written) {
		if seen[c.Name] {
			refused(c.field+".name", fmt.Sprintf("two containers have the name %q", c.Name), "give each its own")
		}
		seen[c.Name] = true
	}
}

// invalidMounts leaves out the manager's own, which come after the author's or in their place.
func invalidMounts(written, started corev1.PodSpec, refused reporter) {
	authors := containersOf(written)
	for i, c := range containersOf(started) {
		for j, mount := range c.VolumeMounts[:len(authors[i].VolumeMounts)] {
			field := fmt.Sprintf("%s.volumeMounts[%d].", c.field, j)
			if !hasVolume(started.Volumes, mount.Name) {
				refused(field+"name", fmt.Sprintf("the container %s mounts the volume %q, which the pod does not have", c.Name, mount.Name), "add it to volumes, or remove the mount")
			}
			if slices.ContainsFunc(c.VolumeMounts[:j], func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }) {
				refused(field+"mountPath", fmt.Sprintf("the container %s mounts two volumes at %s", c.Name, mount.MountPath), "give each a place of its own")
			}
		}
	}
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

// eachReference is about Secrets and ConfigMaps. It ignores displaced volumes and volumes that no container mounts.
func eachReference(pod corev1.PodSpec, displaced []string, do func(field, kind, name string, optional *bool)) {
	mounted := map[string]bool{}
	for _, c := range containersOf(pod) {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
		show.EnvironmentReferences(c.field, c.Container, do)
	}
	for i, v := range pod.Volumes {
		if mounted[v.Name] && !slices.Contains(displaced, v.Name) {
			show.VolumeReferences(fmt.Sprintf("volumes[%d]", i), v, do)
		}
	}
}
