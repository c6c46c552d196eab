package certs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

const certificateBlock = "CERTIFICATE"

// maxAuthorities limits the size of a caBundle: 64 CAs of 2 KiB have 128 KiB, and etcd accepts 1.5 MiB for an object.
// A rotation needs two CAs. The rest is for Secrets that are lost repeatedly.
const maxAuthorities = 64

// As in the API server, one bad block must not end the trust in the good ones.
func parse(text []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock || len(block.Headers) > 0 {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, c)
		}
	}
	return found
}

func encode(certificates ...*x509.Certificate) []byte {
	var text []byte
	for _, c := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: c.Raw})...)
	}
	return text
}

// trustworthy keeps CAs once, unless they have expired. One that is not valid yet may be in use: the clock was set back.
func trustworthy(authorities []*x509.Certificate, now time.Time, needed ...*x509.Certificate) []*x509.Certificate {
	var kept []*x509.Certificate
	known := map[string]bool{}
	for _, ca := range authorities {
		if now.Before(ca.NotAfter) && !known[string(ca.Raw)] {
			known[string(ca.Raw)] = true
			kept = append(kept, ca)
		}
	}
	return bounded(kept, needed)
}

// bounded removes the middle of CAs, newest first. Except for a rotation with --compromised, it is the only removal without
// evidence of a CA whose certificates can still be valid (docs/adr/0007-rotation-by-observation.md). If every generation reached its pods, they serve one of the newest. If
// generations were published and the Secret could not be written, they serve the oldest. The CAs of the current and
// the next generation stay: those of another issuer can be older than all others.
func bounded(authorities, needed []*x509.Certificate) []*x509.Certificate {
	var kept []*x509.Certificate
	excess := len(authorities) - maxAuthorities
	for i, ca := range authorities {
		if i >= maxAuthorities/2 && excess > 0 && !slices.ContainsFunc(needed, ca.Equal) {
			excess--
			continue
		}
		kept = append(kept, ca)
	}
	return kept
}

// The order depends on the CAs alone, so that the bundle is the same in every reconciliation.
func newestFirst(authorities []*x509.Certificate) []*x509.Certificate {
	return slices.SortedFunc(slices.Values(authorities), func(a, b *x509.Certificate) int {
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), cmp.Compare(NumberOf(b), NumberOf(a)), bytes.Compare(a.Raw, b.Raw))
	})
}

func hexSHA256(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// NumberOf returns the generation number in the subject of a CA that Mint created; 0 for another CA.
func NumberOf(ca *x509.Certificate) int64 {
	if !slices.Equal(ca.Subject.Organization, []string{organization}) {
		return 0
	}
	number, _, _ := strings.Cut(ca.Subject.SerialNumber, "-")
	return certgeneration.Parse(number)
}

// CAs keep the number when the Secret with the annotation is lost; 0 if none has a number.
func latestNumber(authorities []*x509.Certificate) int64 {
	return certgeneration.Latest(0, lists.Map(authorities, NumberOf)...)
}
