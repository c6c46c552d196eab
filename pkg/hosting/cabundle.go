package hosting

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// livePods are the pods of one namespace that exist, by UID.
type livePods struct {
	namespace string
	uids      map[string]bool
}

// podOwner is how the CA of one pod's certificate names the pod.
func podOwner(namespace, uid string) string {
	return namespace + "/" + uid
}

// gone reports whether the pod whose certificate a CA signed does not exist any more. It is
// unknown, and the pod may exist, where the CA names none, or one of another namespace.
func (l *livePods) gone(ca *x509.Certificate) bool {
	if l == nil || len(ca.Subject.OrganizationalUnit) != 1 {
		return false
	}
	namespace, uid, named := strings.Cut(ca.Subject.OrganizationalUnit[0], "/")
	return named && namespace == l.namespace && !l.uids[uid]
}

// joinAuthorities returns a bundle of one's own CAs and of the others that can still be in use:
// other replicas may serve under CAs of their own, and all are called by one configuration. Of
// those, a CA leaves the bundle when it has expired or its pod does not exist any more.
func joinAuthorities(own, others []byte, pods *livePods, now time.Time) []byte {
	joined := bytes.TrimSpace(own)
	for _, block := range certificatesIn(others) {
		cert, err := x509.ParseCertificate(block.Bytes)
		encoded := bytes.TrimSpace(pem.EncodeToMemory(block))
		if err != nil || now.After(cert.NotAfter) || pods.gone(cert) || bytes.Contains(joined, encoded) {
			continue
		}
		joined = append(append(joined, '\n'), encoded...)
	}
	return append(joined, '\n')
}

func certificatesIn(bundle []byte) []*pem.Block {
	var blocks []*pem.Block
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return blocks
		}
		if block.Type == "CERTIFICATE" {
			blocks = append(blocks, &pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
}
