package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// maxCAs is how many CAs of a caBundle are shown. A caBundle of 1 MiB can have thousands.
const maxCAs = 10

// trustedCAs returns the CAs that registrations trust, the oldest first.
func trustedCAs(live []doctor.Webhook) (all []*x509.Certificate) {
	for i, w := range live {
		if i > 0 && bytes.Equal(w.CABundle, live[i-1].CABundle) {
			continue
		}
		for block, rest := pem.Decode(w.CABundle); block != nil && len(all) < maxCAs; block, rest = pem.Decode(rest) {
			ca, err := x509.ParseCertificate(block.Bytes)
			if err == nil && !slices.ContainsFunc(all, ca.Equal) {
				all = append(all, ca)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(certs.NumberOf(a), certs.NumberOf(b)))
	})
	return all
}

// fingerprintOf returns the start of the SHA-256 digest, as status.deployments.certificate.caFingerprint has it.
func fingerprintOf(c *x509.Certificate) string {
	digest := sha256.Sum256(c.Raw)
	return short(hex.EncodeToString(digest[:]))
}

func short(fingerprint string) string { return fingerprint[:min(8, len(fingerprint))] }

// nameOf returns the fingerprint of a CA, after its number if it has one.
func nameOf(ca *x509.Certificate) string { return numbered(certs.NumberOf(ca), fingerprintOf(ca)) }

func numbered(number int64, fingerprint string) string {
	if number == 0 {
		return fingerprint
	}
	return fmt.Sprintf("%d (%s)", number, fingerprint)
}

// palette has a color for each CA, by fingerprint.
type palette map[string]chart.Color

// add gives the next color to a CA without one.
func (p palette) add(fingerprints ...string) {
	for _, fingerprint := range fingerprints {
		if _, known := p[fingerprint]; !known && fingerprint != "" {
			p[fingerprint] = chart.Series(len(p))
		}
	}
}

// of returns the color of the CAs of one bar. A CA that is not known has none of its own.
func (p palette) of(fingerprints ...string) chart.Color {
	if len(fingerprints) != 1 {
		return chart.Mixed
	}
	return cmp.Or(p[fingerprints[0]], chart.Idle)
}
