package certs

import (
	"crypto/x509"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
)

// Registration is what makes API servers call the Deployment's webhooks: a webhook
// configuration, or a CustomResourceDefinition's conversion.
type Registration struct {
	// Name tells a reader which one it is.
	Name string
	// Version changes when the registration does, and when another takes its name: uid and
	// metadata.generation.
	Version string
	// CABundle is its trust. An empty one counts: the webhook is called, whoever emptied it.
	CABundle []byte
	// Generation is the number of the newest generation in CABundle, as the registration
	// says: other issuers' CAs bear none.
	Generation int64
	// Refused says why the API server refuses to write it, as far as that is known in this
	// pass; empty when it does not.
	Refused string
}

// trusts tells whether the registration trusts a CA.
func (r Registration) trusts(ca *x509.Certificate) bool {
	return slices.ContainsFunc(parse(r.CABundle), ca.Equal)
}

// registered are the CAs that any registration trusts.
func (f Facts) registered() []*x509.Certificate {
	var all []*x509.Certificate
	for _, r := range f.Registered {
		all = append(all, parse(r.CABundle)...)
	}
	return all
}

// registeredNumber is the number of the newest generation that any registration trusts. It
// keeps the count when the Secret is lost.
func (f Facts) registeredNumber() int64 {
	return certgeneration.Latest(latestNumber(f.registered()), f.writtenNumber())
}

// distrusting is the first registration that does not trust a CA; empty when all do.
func (f Facts) distrusting(ca *x509.Certificate) string {
	for _, r := range f.Registered {
		if !r.trusts(ca) {
			return r.Name
		}
	}
	return ""
}

// unfenced is the first registration that a manager wrote for an earlier generation and not
// for this one; empty for none. That it trusts the CA is not enough, where an issuer takes
// up a CA again that is trusted still: a paused manager that was about to end that trust
// finds the registration as it saw it, and its write comes through.
func (f Facts) unfenced(number int64) string {
	for _, r := range f.Registered {
		if r.Generation != 0 && !certgeneration.AtLeast(r.Generation, number) {
			return r.Name
		}
	}
	return ""
}

// fingerprint changes whenever any of the registrations does.
func (f Facts) fingerprint() string {
	var all []string
	for _, r := range f.Registered {
		all = append(all, r.Name+" "+r.Version)
	}
	slices.Sort(all)
	text := ""
	for _, v := range all {
		text += v + "\n"
	}
	return hexSHA256([]byte(text))[:16]
}

// writtenNumber is the latest generation that a manager wrote a registration for. None is
// written again for an earlier one.
func (f Facts) writtenNumber() int64 {
	var latest int64
	for _, r := range f.Registered {
		latest = certgeneration.Latest(latest, r.Generation)
	}
	return latest
}
