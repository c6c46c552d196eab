package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// fault is why a Secret cannot be served.
type fault struct {
	text    string
	spoiled bool
}

func unfit(format string, args ...any) *fault { return &fault{text: fmt.Sprintf(format, args...)} }

func spoiled(format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...), spoiled: true}
}

// servable is the chain, from leaf to CA, of a Secret that pods can serve and API
// servers can verify.
func servable(secret *corev1.Secret, key string, current []*x509.Certificate, names []string, now time.Time) ([]*x509.Certificate, *fault) {
	for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[k]) == 0 {
			return nil, spoiled("%s is missing", k)
		}
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, spoiled("%s and %s are no pair (%v)", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if len(current) == 0 {
		return nil, spoiled("%s holds no certificate that can be read", key)
	}
	leaf := pair.Leaf
	if why := lapse(leaf, now); why != "" {
		return nil, unfit("%s %s", corev1.TLSCertKey, why)
	}
	valid := slices.DeleteFunc(slices.Clone(current), func(ca *x509.Certificate) bool { return lapse(ca, now) != "" })
	if len(valid) == 0 {
		return nil, unfit("%s %s", key, lapse(current[0], now))
	}
	chain, err := verify(leaf, secret.Data[corev1.TLSCertKey], valid, now)
	if err != nil {
		return nil, spoiled("%s is not signed for serving by the CA in %s (%v)", corev1.TLSCertKey, key, err)
	}
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return nil, unfit("%s is not valid for %s", corev1.TLSCertKey, name)
		}
	}
	return chain, nil
}

// verify is the check that an API server makes, at a given instant.
func verify(leaf *x509.Certificate, presented []byte, authorities []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now}
	for _, ca := range authorities {
		options.Roots.AddCert(ca)
	}
	options.Intermediates.AppendCertsFromPEM(presented)
	chains, err := leaf.Verify(options)
	if err != nil {
		return nil, err
	}
	return chains[0], nil
}

// lapse says why a certificate is not valid at an instant; empty when it is.
func lapse(c *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Sprintf("is valid only from %s, which is yet to come: compare the clocks of the nodes", instant(c.NotBefore))
	case !now.Before(c.NotAfter):
		return "ended at " + instant(c.NotAfter)
	}
	return ""
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
