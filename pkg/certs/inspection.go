package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Inspection is what a Secret contains that another client manages.
type Inspection struct {
	NotBefore, NotAfter time.Time
	// CA is the content of ca.crt, PEM.
	CA []byte
	// CAFingerprint is the hex SHA-256 of the first CA in DER form.
	CAFingerprint string
}

// MissingCA explains the effect of a Secret without a CA, which some issuers write.
func MissingCA(secret *corev1.Secret) string {
	return fmt.Sprintf("Secret %s/%s has no %s, so new pods cannot mount it; "+
		"add the CA: kubectl -n %[1]s patch secret %[2]s --type=merge -p '{\"data\":{\"%[3]s\":\"'$(base64 -w0 CA-FILE)'\"}}'",
		secret.Namespace, secret.Name, wellknown.KeyCA)
}

// Inspect reads a serving certificate without validating it; nil if there is none.
func Inspect(secret *corev1.Secret) *Inspection {
	if secret == nil {
		return nil
	}
	chain := parse(secret.Data[corev1.TLSCertKey])
	if len(chain) == 0 {
		return nil
	}
	seen := &Inspection{NotBefore: chain[0].NotBefore, NotAfter: expiry(chain), CA: secret.Data[wellknown.KeyCA]}
	if authorities := parse(seen.CA); len(authorities) > 0 {
		seen.CAFingerprint = hexSHA256(authorities[0].Raw)
	}
	return seen
}
