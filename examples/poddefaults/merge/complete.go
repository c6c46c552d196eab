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

func completeVolume(v corev1.Volume) corev1.Volume {
	v = *v.DeepCopy()
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	completeFiles(&v.VolumeSource)
	completeDisk(&v.VolumeSource)
	return v
}

func completeFiles(v *corev1.VolumeSource) {
	if v.Secret != nil {
		setDefault(&v.Secret.DefaultMode, new(corev1.SecretVolumeSourceDefaultMode))
	}
	if v.ConfigMap != nil {
		setDefault(&v.ConfigMap.DefaultMode, new(corev1.ConfigMapVolumeSourceDefaultMode))
	}
	if v.DownwardAPI != nil {
		setDefault(&v.DownwardAPI.DefaultMode, new(corev1.DownwardAPIVolumeSourceDefaultMode))
		completeDownwardFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		setDefault(&v.Projected.DefaultMode, new(corev1.ProjectedVolumeSourceDefaultMode))
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				completeDownwardFiles(source.DownwardAPI.Items)
			}
			if source.ServiceAccountToken != nil {
				setDefault(&source.ServiceAccountToken.ExpirationSeconds, new(int64(60*60)))
			}
		}
	}
	if v.HostPath != nil {
		setDefault(&v.HostPath.Type, new(corev1.HostPathUnset))
	}
	if v.Image != nil {
		setDefault(&v.Image.PullPolicy, defaultPullPolicy(v.Image.Reference))
	}
}

func completeDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for _, file := range files {
		completeFieldRef(file.FieldRef)
	}
}

func completeDisk(v *corev1.VolumeSource) {
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		setDefault(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, new(corev1.PersistentVolumeFilesystem))
	}
	if v.ISCSI != nil {
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		setDefault(&v.RBD.RBDPool, "rbd")
		setDefault(&v.RBD.RadosUser, "admin")
		setDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		setDefault(&v.AzureDisk.CachingMode, new(corev1.AzureDataDiskCachingReadWrite))
		setDefault(&v.AzureDisk.FSType, new("ext4"))
		setDefault(&v.AzureDisk.ReadOnly, new(false))
		setDefault(&v.AzureDisk.Kind, new(corev1.AzureSharedBlobDisk))
	}
	if v.ScaleIO != nil {
		setDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&v.ScaleIO.FSType, "xfs")
	}
}
