package manager

import (
	"github.com/spf13/pflag"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

func addCertificateFlags(f *pflag.FlagSet, p *certs.Policy) {
	f.DurationVar(&p.Validity, "certificate-validity", p.Validity, "how long a serving certificate is valid")
	f.DurationVar(&p.RenewBefore, "certificate-renew-before", p.RenewBefore, "how long before its expiry a serving certificate is renewed; 0: a third of its validity")
	f.DurationVar(&p.ClockSkew, "certificate-clock-skew", p.ClockSkew, "the maximum difference between the clocks of the manager and of API servers and nodes")
	f.Var(keyTypeFlag{&p.Key}, "certificate-key", "type of the private keys: ECDSA-P256, ECDSA-P384, RSA-3072, or Ed25519, which FIPS builds may refuse")
	f.DurationVar(&p.Settle, "certificate-settle", p.Settle, "time within which every API server observes a new CA; pods serve certificates of the CA after that")
	f.DurationVar(&p.Grace, "certificate-reload-grace", p.Grace, "time within which pods load a mounted certificate; pods that do not are restarted one by one")
	f.IntVar(&p.Parallel, "certificate-rotations", p.Parallel, "number of serving certificates that are renewed at the same time")
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
