package merge

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

// istioProxy is an injected container, whose injector expects it unchanged.
const istioProxy = "istio-proxy"

// Apply applies PodDefaults to a pod. Values of the pod are first, then those of each PodDefault in order. If there are
// conflicts, the pod is unchanged, and the error names all of them.
func Apply(pod *corev1.Pod, podDefaults []*v1alpha1.PodDefault) error {
	if len(podDefaults) == 0 {
		return nil
	}
	m := &merger{pod: pod.DeepCopy(), podDefaults: podDefaults}
	m.pod.Labels = m.mergeMap("labels", m.pod.Labels, func(s *v1alpha1.PodDefaultSpec) map[string]string { return s.Labels })
	m.pod.Annotations = m.mergeMap("annotations", m.pod.Annotations, func(s *v1alpha1.PodDefaultSpec) map[string]string { return s.Annotations })
	m.mergeOwnContainers() // before sidecars are among the containers
	m.mergePodLists()
	m.setServiceAccount()
	if len(m.conflicts) > 0 {
		return m.conflictError()
	}
	m.markApplied()
	*pod = *m.pod.DeepCopy() // shares no memory with the PodDefaults
	return nil
}

// merger shares memory with the PodDefaults until it is done: what they contain is copied before it is changed.
type merger struct {
	pod         *corev1.Pod
	podDefaults []*v1alpha1.PodDefault
	conflicts   []string
}

func (m *merger) mergePodLists() {
	spec := &m.pod.Spec
	spec.Volumes = volumes.merge(m, inPod, spec.Volumes)
	spec.Tolerations = tolerations.merge(m, inPod, spec.Tolerations)
	spec.ImagePullSecrets = imagePullSecrets.merge(m, inPod, spec.ImagePullSecrets)
	spec.InitContainers = initContainers.merge(m, inPod, spec.InitContainers)
	spec.Containers = sidecars.merge(m, inPod, spec.Containers)
}

// mergeOwnContainers ignores containers with the name of a sidecar: they are that sidecar or a conflict.
func (m *merger) mergeOwnContainers() {
	isSidecar := map[string]bool{}
	for _, d := range m.podDefaults {
		for _, sidecar := range d.Spec.Sidecars {
			isSidecar[sidecar.Name] = true
		}
	}
	for i := range m.pod.Spec.Containers {
		if container := &m.pod.Spec.Containers[i]; !isSidecar[container.Name] {
			m.mergeContainer(container)
		}
	}
}

func (m *merger) mergeContainer(container *corev1.Container) {
	container.Env = env.merge(m, container.Name, container.Env)
	container.VolumeMounts = m.mergeVolumeMounts(container.Name, container.VolumeMounts)
	for _, d := range m.podDefaults {
		container.EnvFrom = append(container.EnvFrom, d.Spec.EnvFrom...)
	}
	if container.Name == istioProxy {
		return
	}
	for _, d := range m.podDefaults {
		if len(container.Command) == 0 {
			container.Command = d.Spec.Command
		}
		if len(container.Args) == 0 {
			container.Args = d.Spec.Args
		}
	}
}

func (m *merger) markApplied() {
	annotations := maps.Clone(m.pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, d := range m.podDefaults {
		annotations[AppliedAnnotation(d.Name)] = d.ResourceVersion
	}
	m.pod.Annotations = annotations
}
