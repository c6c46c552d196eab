package manager

import (
	"github.com/spf13/pflag"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// addCertificateFlags lets the administrator choose how long serving certificates last,
// and how long their rotations wait.
func addCertificateFlags(f *pflag.FlagSet, p *certs.Policy) {
	f.DurationVar(&p.Validity, "certificate-validity", p.Validity, "how long a serving certificate is valid")
	f.DurationVar(&p.RenewBefore, "certificate-renew-before", p.RenewBefore, "how long before its end a serving certificate is replaced; 0 is a third of its life")
	f.DurationVar(&p.ClockSkew, "certificate-clock-skew", p.ClockSkew, "the maximum difference between the clocks of the manager and of API servers and nodes")
	f.Var(keyTypeFlag{&p.Key}, "certificate-key", "kind of the keys: ECDSA-P256, ECDSA-P384, RSA-3072, or Ed25519, which FIPS builds may refuse")
	f.DurationVar(&p.Settle, "certificate-settle", p.Settle, "time that API servers may take to learn of a new CA, before pods serve under it")
	f.DurationVar(&p.Grace, "certificate-reload-grace", p.Grace, "time that pods may take to serve a certificate that is mounted, before they are restarted, pod by pod")
	f.IntVar(&p.Parallel, "certificate-rotations", p.Parallel, "serving certificates replaced at once because they are due")
}

type keyTypeFlag struct{ kind *certs.KeyType }

func (k keyTypeFlag) String() string {
	if k.kind == nil {
		return ""
	}
	return string(*k.kind)
}

func (k keyTypeFlag) Set(text string) (err error) {
	*k.kind, err = certs.ParseKeyType(text)
	return err
}

func (keyTypeFlag) Type() string { return "kind" }
