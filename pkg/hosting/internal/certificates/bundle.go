package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

// JoinBundles returns a bundle of own CAs and of the other CAs that may still be in use: other
// replicas may serve certificates of CAs of their own, and one configuration calls all replicas. A
// CA leaves the bundle when it has expired or its pod no longer exists.
func JoinBundles(own, others []byte, pods *pod.List, now time.Time) []byte {
	joined := bytes.TrimSpace(own)
	for _, block := range certificatesIn(others) {
		cert, err := x509.ParseCertificate(block.Bytes)
		encoded := bytes.TrimSpace(pem.EncodeToMemory(block))
		if err != nil || now.After(cert.NotAfter) || pods.Deleted(cert) || bytes.Contains(joined, encoded) {
			continue
		}
		joined = append(append(joined, '\n'), encoded...)
	}
	return append(joined, '\n')
}

// certificatesIn returns the certificates of a bundle. Unlike client-go's cert.ParseCertsPEM, it
// accepts a bundle in which another client wrote a certificate that does not parse.
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

// Parse returns the certificates of a bundle that parse.
func Parse(bundle []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for _, block := range certificatesIn(bundle) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
	return certs
}
