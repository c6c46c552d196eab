package merge

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// completeContainer adds the defaults of the API server, and removes the mount of the ServiceAccount's token.
func completeContainer(c corev1.Container) corev1.Container {
	c = *c.DeepCopy()
	setDefault(&c.ImagePullPolicy, defaultPullPolicy(c.Image))
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		c.Env[i] = completeEnvVar(c.Env[i])
	}
	completeRequests(&c.Resources)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		completeProbe(probe)
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				completeHTTPGet(hook.HTTPGet)
			}
		}
	}
	c.VolumeMounts = withoutToken(c.VolumeMounts)
	return c
}

func completeEnvVar(v corev1.EnvVar) corev1.EnvVar {
	v = *v.DeepCopy()
	if v.ValueFrom == nil {
		return v
	}
	completeFieldRef(v.ValueFrom.FieldRef)
	if file := v.ValueFrom.FileKeyRef; file != nil {
		setDefault(&file.Optional, new(false))
	}
	return v
}

func completeFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setDefault(&ref.APIVersion, "v1")
	}
}

func completeRequests(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, isSet := r.Requests[name]; isSet {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = limit
	}
}

func completeProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	completeHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefault(&p.GRPC.Service, new(""))
	}
}

func completeHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		setDefault(&get.Path, "/")
		setDefault(&get.Scheme, corev1.URISchemeHTTP)
	}
}

// defaultPullPolicy is Always for the tag latest, which is the default of images without a digest.
func defaultPullPolicy(image string) corev1.PullPolicy {
	reference, _, hasDigest := strings.Cut(image, "@")
	name := reference[strings.LastIndex(reference, "/")+1:] // before it, a colon begins a port
	_, tag, hasTag := strings.Cut(name, ":")
	if tag == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}
