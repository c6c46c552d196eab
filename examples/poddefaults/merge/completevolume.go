package merge

import (
	corev1 "k8s.io/api/core/v1"
)

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
