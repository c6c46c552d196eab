package certs

import (
	"testing"
	"time"
)

// policyOf is what the administrator of a cluster has chosen: the defaults in every other one.
// RSA keys take too long to be made by the thousand.
func policyOf(t *testing.T, seed uint64) Policy {
	t.Helper()
	p, random := DefaultPolicy(), dice{^seed}
	if seed/4%2 == 0 {
		return p
	}
	p.Validity = oneOf(&random, 5*day, 30*day, 365*day)
	p.RenewBefore = oneOf(&random, 0, 2*day, 4*day)
	p.ClockSkew = oneOf(&random, 0, time.Minute, 10*time.Minute, time.Hour)
	p.Key = oneOf(&random, KeyECDSAP256, KeyECDSAP384, KeyEd25519)
	p.Settle = oneOf(&random, time.Second, 5*time.Second, 20*time.Second)
	p.Grace = oneOf(&random, 5*time.Second, 2*time.Minute)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

func oneOf[T any](random *dice, choices ...T) T { return choices[random.below(len(choices))] }
