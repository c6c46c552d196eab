package certs

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is the one clock of these tests.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

var names = DNSNames("manager-service", "shop")

// after is the instant so long after start.
func after(d time.Duration) time.Time { return start.Add(d) }

// minted is a generation that Decide would have asked for at an instant.
func minted(t *testing.T, number int64, at time.Time) Generation {
	t.Helper()
	return mint(t, *DefaultPolicy().request(number, names, at))
}

func mint(t *testing.T, r Request) Generation {
	t.Helper()
	g, err := Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// blank is what the caller hands to Fill when there is no Secret.
func blank() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-service-cert"}}
}

// holding is the Secret that holds a generation, and the CAs of earlier ones.
func holding(g Generation, earlier ...Generation) *corev1.Secret {
	return Fill(blank(), g, Decision{Trust: cas(earlier...)})
}

// edited is a Secret after somebody changed one key; nil deletes it.
func edited(secret *corev1.Secret, key string, value []byte) *corev1.Secret {
	secret = secret.DeepCopy()
	secret.Data[key] = value
	if value == nil {
		delete(secret.Data, key)
	}
	return secret
}

// cas is the bundle of some generations' CAs.
func cas(generations ...Generation) []byte {
	var bundle []byte
	for _, g := range generations {
		bundle = append(bundle, g.CA...)
	}
	return bundle
}

// verifies says whether an API server with this caBundle would call a pod that
// serves this leaf.
func verifies(leaf, caBundle []byte, now time.Time) error {
	c := parse(leaf)[0]
	if _, err := verify(c, nil, parse(caBundle), now); err != nil {
		return err
	}
	return c.VerifyHostname("manager-service.shop.svc")
}

// describe names the CAs of a bundle by the generations they are of.
func describe(bundle []byte, known map[string]Generation) []string {
	described := []string{}
	for _, c := range parse(bundle) {
		name := "unknown"
		for n, g := range known {
			if slices.Equal(encode(c), g.CA) {
				name = n
			}
		}
		described = append(described, name)
	}
	return described
}
