package certs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
)

const certificateBlock = "CERTIFICATE"

// maxAuthorities bounds a trust bundle. A rotation needs two CAs; the rest is room
// for Secrets that are lost again and again.
const maxAuthorities = 8

// parse reads every certificate of some PEM text. What does not parse is passed
// over, as the API server passes over it: one bad block must not cost the trust
// in the good ones.
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

// encode is the PEM form of certificates, nil for none.
func encode(certificates ...*x509.Certificate) []byte {
	var text []byte
	for _, c := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: c.Raw})...)
	}
	return text
}

// trustworthy is what a bundle may contain of some CAs: each once, none that has
// ended, and not more than maxAuthorities. Those that are needed are never cut.
//
// A CA that has not begun stays. It cannot be verified against yet, and leaving
// it out because this clock was set back would cut off the pods that serve it.
func trustworthy(authorities []*x509.Certificate, now time.Time, needed ...*x509.Certificate) []*x509.Certificate {
	var kept []*x509.Certificate
	for _, ca := range authorities {
		if now.Before(ca.NotAfter) && !slices.ContainsFunc(kept, ca.Equal) {
			kept = append(kept, ca)
		}
	}
	return bounded(kept, needed)
}

// bounded cuts CAs, newest first, down to maxAuthorities by taking out the middle.
// If every generation reached its pods, one of the newest is served. If the Secret
// could not be written, however often a generation was minted and published,
// the one still served is the oldest. Neither may lose its trust.
// The CA of the current and of the next generation are needed in any case: another issuer's
// can be older than all others.
func bounded(authorities, needed []*x509.Certificate) []*x509.Certificate {
	kept := slices.Clone(authorities)
	for i := maxAuthorities / 2; len(kept) > maxAuthorities && i < len(kept); {
		if slices.ContainsFunc(needed, kept[i].Equal) {
			i++
			continue
		}
		kept = slices.Delete(kept, i, i+1)
	}
	return kept
}

// newestFirst orders CAs of unknown origin. The order depends on nothing but the
// CAs, so that a bundle made of them is the same on every pass.
func newestFirst(authorities []*x509.Certificate) []*x509.Certificate {
	return slices.SortedFunc(slices.Values(authorities), func(a, b *x509.Certificate) int {
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), cmp.Compare(numberOf(b), numberOf(a)), bytes.Compare(a.Raw, b.Raw))
	})
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// numberOf is the generation number in the subject of a CA that Mint made.
func numberOf(ca *x509.Certificate) int64 {
	if !slices.Equal(ca.Subject.Organization, []string{organization}) {
		return 0
	}
	number, _, _ := strings.Cut(ca.Subject.SerialNumber, "-")
	return certgeneration.Parse(number)
}

// latestNumber is the number of the newest generation among some CAs; 0 when none has a number.
// CAs keep the count when the Secret with the annotation is lost.
func latestNumber(authorities []*x509.Certificate) int64 {
	var latest int64
	for _, ca := range authorities {
		latest = certgeneration.Latest(latest, numberOf(ca))
	}
	return latest
}
