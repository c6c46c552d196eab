package certs

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestParseIgnoresOtherBlocks(t *testing.T) {
	g := minted(t, 1, start)
	der := parse(g.CA)[0].Raw
	bundle := slices.Concat(
		g.Key,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der[:100]}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: der}),
		[]byte("-----BEGIN CERTIFICATE-----\ncut\n"),
		g.CA,
	)
	installtest.Same(t, "the certificates", string(g.CA), string(encode(parse(bundle)...)))
}

// The limit on the size of a bundle never removes the CA of the certificate that pods are given.
// The CA of another issuer may be older or newer than all others.
func TestTrustworthyKeepsNeededCAs(t *testing.T) {
	all := parse(cas(installtest.Times(maxAuthorities+6, func(i int) Generation { return minted(t, int64(1+i), start) })...))
	for i, needed := range all {
		kept := trustworthy(all, start, needed, all[len(all)/2])
		if len(kept) != maxAuthorities || !slices.ContainsFunc(kept, needed.Equal) || !slices.ContainsFunc(kept, all[len(all)/2].Equal) {
			t.Errorf("CA %d is needed, and %s are kept", i, numbersOf(kept))
		}
	}
}

// Expired CAs are removed first. None of the others is removed, up to the limit.
func TestExpiredCAsMakeRoom(t *testing.T) {
	var all []*x509.Certificate
	for number := range int64(maxAuthorities) {
		all = append(all, parse(minted(t, 1+number, start).CA)...)
		if number < 6 {
			all = append(all, parse(minted(t, 1+number, after(-200*day)).CA)...)
		}
	}
	installtest.Same(t, "the CAs that are kept", maxAuthorities, len(trustworthy(all, start)))
}

// Pods may serve another certificate of an expired one's CA. It stays trusted until pods serve the next certificate.
func TestCAOfExpiredCertificateStaysTrusted(t *testing.T) {
	leaf := &x509.Certificate{NotBefore: start, NotAfter: after(30 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	first, second := newSigner(t, &x509.Certificate{NotBefore: start, NotAfter: after(365 * day)}).issue(leaf), minted(t, 2, after(40*day))
	distributed := secretWith(t, first).next(second, after(40*day))
	facts := Facts{Secret: distributed.Secret, Registrations: []Registration{trusting(second, first)}, Names: names, Live: true}
	facts.Secret = Decide(facts, DefaultPolicy(), after(40*day)).Write
	installtest.Same(t, "what is written", "current 2, previous 0, promoted", describe(facts.Secret))
	installtest.Same(t, "what is needed", NeedEvidence, Decide(facts, DefaultPolicy(), after(40*day)).Need)
}

// Six earlier CAs delay a renewal until the renewal is urgent, and the message names the pods that it waits for.
func TestFullBundle(t *testing.T) {
	first, next := minted(t, 9, start), minted(t, 10, after(80*day))
	soon := minted(t, 10, after(day))
	var earlier, ended []byte
	for number := range int64(6) {
		earlier = append(minted(t, 1+number, start).CA, earlier...)
		ended = append(minted(t, 1+number, after(-95*day)).CA, ended...)
	}
	many := secretWith(t, first).edited(wellknown.KeyPreviousCAs, earlier).change(start, func(e editor) {
		e.recordTime(wellknown.AnnotationPromotedAt, start)
		e.recordTime(wellknown.AnnotationPreviousExpiresAt, after(90*day))
	})
	one := []Registration{trusting(first)}
	seen := func(serves Observation) *Evidence {
		return &Evidence{Leaf: many.assembled(first).leaf(), Backends: []Backend{{Pod: "a", Serves: serves, Message: "pod a does not answer"}}}
	}
	for name, c := range map[string]decision{
		"a rotation request waits for pods": {
			facts: Facts{Secret: many.Secret, Registrations: one, RotationRequest: "a", Live: true, Evidence: seen(ServesUnknown)}, at: after(day), phase: promoting, trust: "9 6 5 4 3 2 1",
			message: "another certificate is due for renewal and waits for that, because 6 earlier CAs are trusted already: restart or delete what does not serve the new one",
		},
		"no renewal is due": {
			facts: Facts{Secret: many.Secret, Registrations: one, Live: true, Evidence: seen(ServesUnknown)}, at: after(day), phase: promoting, trust: "9 6 5 4 3 2 1",
			message: "pod a does not answer; the previous CA stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"all pods serve the new certificate": {
			facts: Facts{Secret: many.Secret, Registrations: one, RotationRequest: "a", Live: true, Evidence: seen(ServesCurrent)}, at: after(day), write: "current 9", phase: stable, trust: "9",
		},
		"the renewal is urgent": {
			facts: Facts{Secret: many.Secret, Registrations: one, Issued: &next}, at: after(88 * day), write: "current 9, next 10, previous 6 5 4 3 2 1, promoted", phase: distributing, trust: "10 9 6 5 4 3 2 1",
		},
		"the earlier CAs have expired": {
			facts: Facts{Secret: many.edited(wellknown.KeyPreviousCAs, ended).Secret, Registrations: one, RotationRequest: "a", Issued: &soon}, at: after(day),
			write: "current 9, next 10, previous 6 5 4 3 2 1, promoted", phase: distributing, trust: "10 9",
		},
	} {
		t.Run(name, c.check)
	}
}

// If a bundle overflows, it loses the CAs in the middle. Pods serve one of the newest CAs. If no
// Secret existed long enough to reach the pods, they serve the oldest.
func TestBundleOverflow(t *testing.T) {
	const half, total = maxAuthorities / 2, maxAuthorities + 6
	all := installtest.Times(total, func(i int) Generation { return minted(t, int64(total-i), start) })
	numbers := func(from, to int) string {
		return strings.Join(installtest.Times(from-to+1, func(i int) string { return fmt.Sprint(from - i) }), " ")
	}
	oldest := " " + numbers(half, 1)
	next, current, earlier := all[0], all[1], all[2:]
	many := secretWith(t, current).edited(wellknown.KeyPreviousCAs, cas(earlier...)).change(start, func(e editor) {
		e.recordTime(wellknown.AnnotationPromotedAt, start)
		e.recordTime(wellknown.AnnotationPreviousExpiresAt, after(90*day))
	})
	registered := []Registration{trusting(earlier...)}
	for name, c := range map[string]decision{
		"an urgent rotation begins": {
			facts: Facts{Secret: many.Secret, Registrations: registered, Issued: &next}, at: after(88 * day),
			write: fmt.Sprintf("current %d, next %d, previous %s, promoted", total-1, total, numbers(total-2, 1)), phase: distributing, trust: numbers(total, total-half+1) + oldest,
		},
		"the next generation is promoted": {
			facts: Facts{Secret: many.next(next, after(88*day)).Secret, Live: true}, at: after(88 * day),
			write: fmt.Sprintf("current %d, previous %s, promoted", total, numbers(total-1, total-half)+oldest), phase: promoting, trust: numbers(total, total-half+1) + oldest,
		},
		"the Secret is lost": {
			facts: Facts{Registrations: registered, Live: true, Issued: &current}, at: after(day),
			write: fmt.Sprintf("next %d, previous %s", total-1, numbers(total-2, total-half-1)+oldest), phase: distributing, trust: numbers(total-1, total-half) + oldest, message: "missing",
		},
		"the Secret is lost, and another issuer has issued nothing": {
			facts: Facts{Provider: "cert-manager", Secret: many.edited(corev1.TLSPrivateKeyKey, nil).Secret, Registrations: registered, Live: true}, at: after(day),
			write: fmt.Sprintf("previous %s, promoted", numbers(total-2, total-half-1)+oldest), phase: distributing, trust: numbers(total-2, total-half-1) + oldest, message: "missing",
		},
	} {
		t.Run(name, c.check)
	}
}
