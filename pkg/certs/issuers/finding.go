package issuers

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// ServerName returns the name that API servers verify. service-ca omits the one without ".svc".
func ServerName(service, namespace string) string { return service + "." + namespace + ".svc" }

// Finding is the progress of an issuer.
type Finding struct {
	// Published is the certificate to serve; nil if there is none.
	Published *Published
	// Problem is what the issuer waits for, and the remedy; empty for nothing. A renewal can fail.
	Problem string
	// RenewAt is when the issuer reissues; zero if it does not report it.
	RenewAt time.Time
}

// Published is a leaf, its key and its CAs, PEM.
type Published struct {
	Certificate, Key, CA []byte
}

// pair returns the contents of a Secret of type kubernetes.io/tls; nil while it is incomplete.
func pair(secret *corev1.Secret) *Published {
	if secret == nil {
		return nil
	}
	p := &Published{
		Certificate: secret.Data[corev1.TLSCertKey],
		Key:         secret.Data[corev1.TLSPrivateKeyKey],
		CA:          secret.Data[wellknown.KeyCA],
	}
	if len(p.Certificate) == 0 || len(p.Key) == 0 {
		return nil
	}
	return p
}

// incomplete explains that an issuer reports a Secret as issued that cannot be served.
func incomplete(secret *corev1.Secret, namespace, name, issuer string) string {
	if secret == nil {
		return fmt.Sprintf("%s reports a certificate as issued, and Secret %s/%s does not exist yet", issuer, namespace, name)
	}
	return fmt.Sprintf("Secret %s/%s, issued by %s, lacks %s or %s: delete the Secret, and %[3]s issues again: kubectl -n %[1]s delete secret %[2]s",
		namespace, name, issuer, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
}

func hasCertificate(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" && len(bytes.TrimSpace(block.Bytes)) > 0 {
			return true
		}
	}
	return false
}

func waiting(format string, args ...any) Finding {
	return Finding{Problem: fmt.Sprintf(format, args...)}
}
