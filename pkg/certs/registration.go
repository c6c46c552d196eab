package certs

import (
	"cmp"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Registration is a webhook configuration, an APIService, or a conversion.
type Registration struct {
	// Name is the kind and name for messages.
	Name string
	// Version is uid and metadata.generation, to distinguish another object of the same name.
	Version string
	// CABundle is the trust. An empty one counts, because the webhook is called.
	CABundle []byte
	// Generation is the newest in CABundle, from the annotation. CAs of other issuers have none.
	Generation int64
	// Refused is why the API server refuses to write the registration, as far as it is known.
	Refused string
	// Contested is which client reverts the writes, and when the manager writes again; empty for none.
	Contested string
	// Blocked is set while the manager does not write CABundle because of the contest.
	Blocked bool
}

func (r Registration) notWritable() string { return cmp.Or(r.Refused, r.Contested) }

func (r Registration) trusts(ca *x509.Certificate) bool {
	return slices.ContainsFunc(parse(r.CABundle), ca.Equal)
}

func (f Facts) registeredCAs() []*x509.Certificate {
	return slices.Concat(lists.Map(f.Registrations, func(r Registration) []*x509.Certificate { return parse(r.CABundle) })...)
}

// registeredNumber survives the loss of the Secret.
func (f Facts) registeredNumber() int64 {
	return certgeneration.Latest(latestNumber(f.registeredCAs()), f.writtenNumber())
}

func (f Facts) firstWithoutTrust(ca *x509.Certificate) string {
	return lists.First(f.Registrations, func(r Registration) bool { return !r.trusts(ca) }).Name
}

// writtenForEarlier returns the first registration that a manager wrote for an earlier generation. Trust in the
// CA is not enough if an issuer reuses a trusted CA: a paused manager that was about to end that trust observes
// an unchanged registration, and its write succeeds.
func (f Facts) writtenForEarlier(number int64) string {
	return lists.First(f.Registrations, func(r Registration) bool {
		return r.Generation != 0 && !certgeneration.AtLeast(r.Generation, number)
	}).Name
}

func (f Facts) fingerprint() string {
	all := lists.Map(f.Registrations, func(r Registration) string { return r.Name + " " + r.Version + "\n" })
	slices.Sort(all)
	return hexSHA256([]byte(strings.Join(all, "")))[:16]
}

// Registrations are never written for an earlier generation.
func (f Facts) writtenNumber() int64 {
	return certgeneration.Latest(0, lists.Map(f.Registrations, func(r Registration) int64 { return r.Generation })...)
}
