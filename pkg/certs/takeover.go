package certs

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Completed is a copy of a usable Secret with the key under which pods mount the CA,
// when it lacks that key, and else nil. OLM v0's Secrets lack it, and a pod that
// mounts a missing key does not start.
func Completed(secret *corev1.Secret) *corev1.Secret {
	if len(secret.Data[vocabulary.KeyCA]) > 0 || len(secret.Data[vocabulary.KeyOLMCA]) == 0 {
		return nil
	}
	completed := secret.DeepCopy()
	completed.Data[vocabulary.KeyCA] = completed.Data[vocabulary.KeyOLMCA]
	return completed
}
