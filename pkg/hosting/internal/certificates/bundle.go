package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

// JoinBundles adds the other CAs until they expire or their pods are deleted: other replicas may have CAs of their own,
// and one configuration calls all replicas.
func JoinBundles(own, others []byte, pods *pod.List, now time.Time) []byte {
	joined := bytes.TrimSpace(own)
	for _, cert := range Parse(others) {
		encoded := bytes.TrimSpace(inPEM("CERTIFICATE", cert.Raw))
		if !now.After(cert.NotAfter) && !pods.Deleted(cert) && !bytes.Contains(joined, encoded) {
			joined = append(append(joined, '\n'), encoded...)
		}
	}
	return append(joined, '\n')
}

// certificatesIn accepts certificates that do not parse, unlike client-go's cert.ParseCertsPEM.
func certificatesIn(bundle []byte) []*pem.Block {
	var blocks []*pem.Block
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return blocks
		}
		if block.Type == "CERTIFICATE" {
			blocks = append(blocks, block)
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
