package judge

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// verify returns why a client with a caBundle refuses the chain of a pod that it calls by its Service.
func verify(caBundle []byte, chain string, service history.Ref, at time.Time) error {
	served := certificatesIn([]byte(chain))
	if len(served) == 0 {
		return errors.New("the pod sends no certificate")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range certificatesIn(caBundle) {
		roots.AddCert(c)
	}
	for _, c := range served[1:] {
		intermediates.AddCert(c)
	}
	_, err := served[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: at, DNSName: service.Name + "." + service.Namespace + ".svc"})
	return err
}

// certificatesIn returns the certificates of PEM blocks, as far as they can be parsed.
func certificatesIn(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for _, block := range blocksIn(text) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, c)
		}
	}
	return all
}

func blocksIn(text []byte) []*pem.Block {
	var all []*pem.Block
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block)
	}
	return all
}

// removed returns the certificates of a bundle that another one lacks.
func removed(before, after []byte) []*x509.Certificate {
	kept := certificatesIn(after)
	return slices.DeleteFunc(certificatesIn(before), func(c *x509.Certificate) bool { return slices.ContainsFunc(kept, c.Equal) })
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
