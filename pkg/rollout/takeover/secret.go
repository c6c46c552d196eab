package takeover

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Secret returns a Secret with the CA where olm-operator reads it; nil if the live one has it. The caBundle is that of the
// registrations, and has one CA.
func Secret(live *corev1.Secret, caBundle []byte) *corev1.Secret {
	hash := BundleHash(caBundle)
	if len(caBundle) == 0 || bytes.Equal(live.Data[wellknown.KeyOLMCA], caBundle) && live.Annotations[wellknown.AnnotationCAHash] == hash {
		return nil
	}
	readable := live.DeepCopy()
	if readable.Data == nil {
		readable.Data = map[string][]byte{}
	}
	readable.Data[wellknown.KeyOLMCA] = caBundle
	readable.Annotations = labels.Merge(live.Annotations, labels.Set{wellknown.AnnotationCAHash: hash})
	return readable
}
