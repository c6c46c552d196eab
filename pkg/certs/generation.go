package certs

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Generation is a CA and a leaf that it signed. The key of the CA is not a part of it.
type Generation struct {
	// Number counts generations from 1. That of another issuer gets it when it is stored.
	Number int64
	// CA and Certificate are PEM certificates. Key is the private key of the leaf, PEM.
	CA, Certificate, Key []byte
}

type keyPair struct {
	Generation
	chain []*x509.Certificate // from the leaf to the CA
}

func (h *keyPair) ca() *x509.Certificate { return h.chain[len(h.chain)-1] }

func (h *keyPair) leaf() string { return hexSHA256(h.chain[0].Raw) }

// A leaf of a new CA that the previous CA cross-signed can be trusted by either.
func (h *keyPair) sameAs(o *keyPair) bool {
	return h != nil && o != nil && h.chain[0].Equal(o.chain[0]) && h.ca().Equal(o.ca())
}

// assemble does not check whether the generation is valid now.
func assemble(g Generation, now time.Time) (*keyPair, error) {
	switch {
	case len(g.Certificate) == 0:
		return nil, invalidError{ReasonIncomplete, errors.New("the certificate is missing")}
	case len(g.Key) == 0:
		return nil, invalidError{ReasonIncomplete, errors.New("the key is missing")}
	}
	pair, err := tls.X509KeyPair(g.Certificate, g.Key)
	if err != nil {
		return nil, invalidError{ReasonKeyMismatch, fmt.Errorf("certificate and key are no pair (%w)", err)}
	}
	authorities := parse(g.CA)
	if len(authorities) == 0 {
		return nil, invalidError{ReasonNoCA, errors.New("the CA is missing, or no certificate that can be read")}
	}
	// The trust in a CA that expires earlier would end before the certificate expires.
	slices.SortFunc(authorities, func(a, b *x509.Certificate) int {
		return cmp.Or(strings.Compare(outsideValidity(a, now), outsideValidity(b, now)), b.NotAfter.Compare(a.NotAfter), bytes.Compare(a.Raw, b.Raw))
	})
	for _, ca := range authorities {
		at := latest(ca.NotBefore, pair.Leaf.NotBefore)
		var chain []*x509.Certificate
		if chain, err = verify(pair.Leaf, g.Certificate, ca, at); err == nil {
			return &keyPair{Generation: g, chain: chain}, nil
		}
	}
	return nil, notSigned(err)
}

// invalid returns why API servers cannot verify a generation; empty if they can.
func (h *keyPair) invalid(names []string, now time.Time) string {
	_, why := h.invalidReason(names, now)
	return why
}

func (h *keyPair) invalidReason(names []string, now time.Time) (flaw Reason, why string) {
	if why := outsideValidity(h.chain[0], now); why != "" {
		return validityReason(h.chain[0], now), "the certificate " + why
	}
	if why := outsideValidity(h.ca(), now); why != "" {
		return validityReason(h.ca(), now), "the CA " + why
	}
	for _, name := range names {
		if h.chain[0].VerifyHostname(name) != nil {
			return ReasonWrongName, "the certificate is not valid for " + name
		}
	}
	return "", ""
}

// verify checks a leaf as an API server does, at a given time.
func verify(leaf *x509.Certificate, presented []byte, ca *x509.Certificate, at time.Time) ([]*x509.Certificate, error) {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at}
	options.Roots.AddCert(ca)
	options.Intermediates.AppendCertsFromPEM(presented)
	chains, err := leaf.Verify(options)
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}

func outsideValidity(c *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Sprintf("is valid only from %s, which is yet to come: compare the clocks of the nodes", instant(c.NotBefore))
	case !now.Before(c.NotAfter):
		return "expired at " + instant(c.NotAfter)
	}
	return ""
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// OLM v0 writes no ca.crt, and its Secrets are adopted as they are.
func caKey(secret *corev1.Secret) string {
	if len(secret.Data[wellknown.KeyCA]) == 0 && len(secret.Data[wellknown.KeyOLMCA]) > 0 {
		return wellknown.KeyOLMCA
	}
	return wellknown.KeyCA
}
