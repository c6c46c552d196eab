package render

import (
	"crypto/sha256"
	"encoding/json"
	"math/big"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// OLMDeployment returns what olm-operator v0.46 makes of a Deployment of a CSV, without the defaults of the API server. caHash
// is the hex SHA-256 of the caBundle that olm-operator finds in the registration; it is not used without webhooks.
func OLMDeployment(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec, caHash string) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: csvspec.OwnedMeta(in.CSV, spec.Name),
		Spec:       *spec.Spec.DeepCopy(),
	}
	d.Labels = labels.Merge(spec.Label, d.Labels)
	pods := &d.Spec.Template
	if len(csvspec.Descriptions(in.CSV, spec.Name)) > 0 {
		mountAsOLM(&pods.Spec, names.Secret(names.Service(spec.Name)))
		pods.Annotations = labels.Merge(pods.Annotations, map[string]string{wellknown.AnnotationCAHash: caHash})
	}
	pods.Annotations = labels.Merge(pods.Annotations, in.CSV.Annotations)
	configureAsOLM(d, in.Config)
	nameOperatorCondition(&pods.Spec, in.CSV.Name)
	d.Spec.RevisionHistoryLimit = new(int32(1))
	d.Labels[wellknown.LabelDeploymentHash] = OLMHash(&d.Spec)
	return d
}

// OLMHash returns the hash that olm-operator writes into labels, of a Deployment's spec or of a webhook description: base 62
// of the SHA-224 of the JSON text with a newline.
func OLMHash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // API types always marshal
	}
	sum := sha256.Sum224(append(text, '\n'))
	var number big.Int
	return number.SetBytes(sum[:]).Text(62)
}

// mountAsOLM mounts the Secret where olm-operator does: in no init container, and not in a container that mounts a volume of
// the same name already.
func mountAsOLM(pod *corev1.PodSpec, secret string) {
	if pod.ServiceAccountName == "" {
		pod.ServiceAccountName = "default"
	}
	for _, place := range []struct{ volume, path, certificate, key string }{
		{wellknown.VolumeAPIServiceCert, wellknown.MountAPIServiceCert, "apiserver.crt", "apiserver.key"},
		{wellknown.VolumeWebhookCert, wellknown.MountWebhookCert, corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	} {
		volume := corev1.Volume{Name: place.volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: secret,
			Items:      []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: place.certificate}, {Key: corev1.TLSPrivateKeyKey, Path: place.key}},
		}}}
		pod.Volumes = replaceOrAppend(pod.Volumes, volume, func(v corev1.Volume) bool { return v.Name == volume.Name })
		for i := range pod.Containers {
			pod.Containers[i].VolumeMounts = mountOnce(pod.Containers[i].VolumeMounts, corev1.VolumeMount{Name: place.volume, MountPath: place.path})
		}
	}
}

// mountOnce keeps a mount of the same volume, and replaces one at the same path, whichever comes first.
func mountOnce(mounts []corev1.VolumeMount, mount corev1.VolumeMount) []corev1.VolumeMount {
	for i, m := range mounts {
		switch {
		case m.Name == mount.Name:
			return mounts
		case m.MountPath == mount.MountPath:
			mounts[i] = mount
			return mounts
		}
	}
	return append(mounts, mount)
}
