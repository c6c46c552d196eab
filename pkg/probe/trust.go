package probe

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

type trust struct {
	pool     *x509.CertPool
	subjects []string
}

// As API servers do, it skips what is no certificate.
func readTrust(bundle []byte) trust {
	read := trust{pool: x509.NewCertPool()}
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			read.pool.AddCert(ca)
			read.subjects = append(read.subjects, fmt.Sprintf("%q", ca.Subject))
		}
	}
	return read
}

func (t trust) String() string {
	if len(t.subjects) == 0 {
		return "the caBundle has none"
	}
	return strings.Join(t.subjects, " or ")
}

// signed ignores other flaws. The time is the leaf's first moment, so that an expired one counts.
func (t trust) signed(presented []*x509.Certificate) bool {
	leaf := presented[0]
	intermediates := x509.NewCertPool()
	for _, c := range presented[1:] {
		intermediates.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         t.pool,
		Intermediates: intermediates,
		CurrentTime:   leaf.NotBefore,
	})
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return !unknown
}
