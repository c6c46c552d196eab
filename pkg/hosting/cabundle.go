package hosting

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"time"
)

// maxAuthorities is how many there may be in a bundle of self-signed ones: more than a
// control plane has members, and few enough for a configuration.
const maxAuthorities = 16

// joinAuthorities returns a bundle that begins with one's own authorities and goes on with
// the latest of the others that are valid still: each replica with a self-signed
// certificate has an authority of its own, and all are called by one configuration.
func joinAuthorities(own, others []byte, now time.Time) []byte {
	joined := bytes.TrimSpace(own)
	count := len(certificatesIn(own))
	for _, block := range certificatesIn(others) {
		cert, err := x509.ParseCertificate(block.Bytes)
		encoded := bytes.TrimSpace(pem.EncodeToMemory(block))
		if err != nil || now.After(cert.NotAfter) || bytes.Contains(joined, encoded) || count == maxAuthorities {
			continue
		}
		joined = append(append(joined, '\n'), encoded...)
		count++
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
