package show

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// HostAccess returns the fields that give a pod access to its node, or remove its isolation from the node, each once. That is
// everything that the Pod Security Standard "baseline" forbids, and every capability that is added.
func HostAccess(template corev1.PodTemplateSpec) []string {
	pod := template.Spec
	var all []string
	add := func(text string, holds bool) {
		if holds {
			all = append(all, text)
		}
	}
	add("hostPID", pod.HostPID)
	add("hostIPC", pod.HostIPC)
	add("hostNetwork", pod.HostNetwork)
	if s := pod.SecurityContext; s != nil {
		add("seccompProfile Unconfined", unconfined(s.SeccompProfile))
		add("hostProcess", hostProcess(s.WindowsOptions))
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		containerAccess(container, add)
	}
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil {
			add("hostPath "+volume.HostPath.Path, true)
		}
	}
	return lists.Distinct(append(all, unlikeStandard(template)...))
}

func containerAccess(container corev1.Container, add func(text string, holds bool)) {
	for _, port := range container.Ports {
		add(fmt.Sprintf("hostPort %d", port.HostPort), port.HostPort != 0)
	}
	s := container.SecurityContext
	if s == nil {
		return
	}
	add("privileged", s.Privileged != nil && *s.Privileged)
	add("procMount Unmasked", s.ProcMount != nil && *s.ProcMount == corev1.UnmaskedProcMount)
	add("seccompProfile Unconfined", unconfined(s.SeccompProfile))
	add("hostProcess", hostProcess(s.WindowsOptions))
	if s.Capabilities != nil {
		for _, capability := range s.Capabilities.Add {
			add("capability "+string(capability), true)
		}
	}
}

func unconfined(p *corev1.SeccompProfile) bool {
	return p != nil && p.Type == corev1.SeccompProfileTypeUnconfined
}

func hostProcess(o *corev1.WindowsSecurityContextOptions) bool {
	return o != nil && o.HostProcess != nil && *o.HostProcess
}

// worded are the checks of the standard for whose fields HostAccess has words of its own.
var worded = []policy.CheckID{
	"capabilities_baseline", "hostNamespaces", "hostPathVolumes", "hostPorts", "privileged", "procMount", "seccompProfile_baseline", "windowsHostProcess",
}

func unlikeStandard(template corev1.PodTemplateSpec) []string {
	var all []string
	for _, check := range policy.DefaultChecks() {
		if check.Level != api.LevelBaseline || slices.Contains(worded, check.ID) {
			continue
		}
		newest := check.Versions[len(check.Versions)-1]
		if result := newest.CheckPod(&template.ObjectMeta, &template.Spec); !result.Allowed {
			all = append(all, fmt.Sprintf("%s (%s)", result.ForbiddenReason, result.ForbiddenDetail))
		}
	}
	return all
}
