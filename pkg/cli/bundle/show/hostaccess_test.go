package show

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each control of the Pod Security Standard "baseline" is shown, in the pod, in its containers and in its init
// containers; a pod that keeps to the standard has no access.
func TestHostAccess(t *testing.T) {
	type change = func(*corev1.PodTemplateSpec, *corev1.Container)
	unmasked := corev1.UnmaskedProcMount
	tried := map[policy.CheckID]bool{}
	for name, c := range map[string]struct {
		change change
		want   []string
	}{
		"nothing": {func(*corev1.PodTemplateSpec, *corev1.Container) {}, nil},
		"what the standard allows": {func(p *corev1.PodTemplateSpec, c *corev1.Container) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "container_t", Level: "s0:c1"}
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.tcp_syncookies", Value: "1"}}
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
			c.Ports = []corev1.ContainerPort{{ContainerPort: 9443}}
		}, nil},
		"host namespaces": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.HostPID, p.Spec.HostIPC, p.Spec.HostNetwork = true, true, true
		}, []string{"hostPID", "hostIPC", "hostNetwork"}},
		"host path": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/run"}}}}
		}, []string{"hostPath /var/run"}},
		"host port": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{HostPort: 22}}
		}, []string{"hostPort 22"}},
		"privileged": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.SecurityContext.Privileged = new(true)
		}, []string{"privileged"}},
		"capability": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN", "SYS_ADMIN"}}
		}, []string{"capability SYS_ADMIN"}},
		"proc": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.SecurityContext.ProcMount = &unmasked
		}, []string{"procMount Unmasked"}},
		"seccomp": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}, []string{"seccompProfile Unconfined"}},
		"host process": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}
		}, []string{"hostProcess"}},
		"SELinux of the pod": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"}
		}, []string{`seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t")`}},
		"SELinux of a container": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{User: "system_u"}
		}, []string{`seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: user may not be set)`}},
		"AppArmor of the pod": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}, []string{`forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")`}},
		"AppArmor by annotation": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}
		}, []string{`forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")`}},
		"sysctl": {func(p *corev1.PodTemplateSpec, _ *corev1.Container) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}
		}, []string{"forbidden sysctls (kernel.msgmax)"}},
		"probe of a host": {func(_ *corev1.PodTemplateSpec, c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: "10.0.0.1", Port: intstr.FromInt32(22)}}}
		}, []string{`probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")`}},
	} {
		for _, initial := range []bool{false, true} {
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{}}}
			containers := []corev1.Container{{Name: "c", SecurityContext: &corev1.SecurityContext{}}}
			c.change(&template, &containers[0])
			if template.Spec.Containers = containers; initial {
				template.Spec.InitContainers, template.Spec.Containers = containers, nil
			}
			installtest.Same(t, name, c.want, HostAccess(template))
			for _, check := range baseline() {
				if !check.Versions[len(check.Versions)-1].CheckPod(&template.ObjectMeta, &template.Spec).Allowed {
					tried[check.ID] = true
				}
			}
		}
	}
	for _, check := range baseline() {
		installtest.Same(t, "a case is refused by the check "+string(check.ID), true, tried[check.ID])
	}
}

func baseline() (all []policy.Check) {
	return lists.Filter(policy.DefaultChecks(), func(check policy.Check) bool { return check.Level == api.LevelBaseline })
}
