package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// start is the time at which all tests begin.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

var names = DNSNames("manager-service", "shop")

func after(d time.Duration) time.Time { return start.Add(d) }

// minted returns a generation as the manager mints it at a time.
func minted(t *testing.T, number int64, at time.Time) Generation {
	t.Helper()
	return mint(t, *DefaultPolicy().request(number, names, at))
}

func mint(t *testing.T, r Request) Generation {
	t.Helper()
	return installtest.OrPanic(Mint(r))
}

var blank = metav1.ObjectMeta{Namespace: "shop", Name: "manager-service-cert"}

// storedSecret is a Secret that was written by the steps of decider.
type storedSecret struct {
	t *testing.T
	*decider
	Secret *corev1.Secret
}

func secretWith(t *testing.T, g Generation) storedSecret {
	t.Helper()
	b := storedSecret{t: t, decider: &decider{rotation: rotation{Facts: Facts{SecretMeta: blank, Provider: managerv1alpha1.ProviderManager, Names: names}}}}
	return b.change(start, func(e editor) {
		e.storeCurrent(b.assembled(g), managerv1alpha1.ProviderManager)
	})
}

func (b storedSecret) next(g Generation, at time.Time) storedSecret {
	return b.change(at, func(e editor) { e.storeNext(b.assembled(g)) })
}

// trusted records that the registrations trust the next generation.
func (b storedSecret) trusted(at time.Time, by ...Registration) storedSecret {
	return b.change(at, func(e editor) {
		e.secret.Annotations[wellknown.AnnotationNextTrustedAt] = at.Format(time.RFC3339Nano) + " " + Facts{Registrations: by}.fingerprint()
	})
}

func (b storedSecret) promoted(at time.Time) storedSecret {
	return b.change(at, editor.promote)
}

// edited returns the Secret after another client changed a key. A nil value deletes the key.
func (b storedSecret) edited(key string, value []byte) storedSecret {
	return b.change(start, func(e editor) {
		e.secret.Data[key] = value
		if value == nil {
			delete(e.secret.Data, key)
		}
	})
}

// with returns the Secret after another client changed it.
func (b storedSecret) with(change func(*corev1.Secret)) storedSecret {
	secret := b.Secret.DeepCopy()
	change(secret)
	return storedSecret{t: b.t, decider: b.decider, Secret: secret}
}

func (b storedSecret) change(at time.Time, change func(editor)) storedSecret {
	m := *b.decider
	m.now, m.Secret = at, b.Secret
	m.state = readSecret(m.Facts, at)
	m.planWrite(change)
	return storedSecret{t: b.t, decider: b.decider, Secret: m.d.Write}
}

func (b storedSecret) assembled(g Generation) *keyPair {
	b.t.Helper()
	h, err := assemble(g, start)
	installtest.Must(b.t, err)
	return h
}

func trusting(generations ...Generation) Registration {
	return Registration{Name: "webhook v", Version: fmt.Sprint(len(generations)), CABundle: cas(generations...)}
}

func cas(generations ...Generation) []byte {
	return slices.Concat(lists.Map(generations, func(g Generation) []byte { return g.CA })...)
}

// verifies returns why an API server with this caBundle cannot call a pod that serves this certificate.
func verifies(leaf, caBundle []byte, now time.Time) error {
	c := parse(leaf)[0]
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), CurrentTime: now}
	options.Roots.AppendCertsFromPEM(caBundle)
	if _, err := c.Verify(options); err != nil {
		return err
	}
	return c.VerifyHostname("manager-service.shop.svc")
}

// describe returns the numbers of the generations that a Secret holds, and which times are recorded in it.
func describe(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	var words []string
	for word, key := range map[string]string{"a current": corev1.TLSCertKey, "b next": wellknown.KeyNextCertificate} {
		if leaf := parse(secret.Data[key]); len(leaf) > 0 {
			words = append(words, fmt.Sprintf("%s %s", word, strings.SplitN(leaf[0].Issuer.SerialNumber, "-", 2)[0]))
		}
	}
	if previous := parse(secret.Data[wellknown.KeyPreviousCAs]); len(previous) > 0 {
		words = append(words, "c previous "+numbersOf(previous))
	}
	for word, annotation := range map[string]string{"d trusted": wellknown.AnnotationNextTrustedAt, "e promoted": wellknown.AnnotationPromotedAt} {
		if secret.Annotations[annotation] != "" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for i := range words {
		words[i] = words[i][2:]
	}
	return strings.Join(words, ", ")
}

func numbersOf(authorities []*x509.Certificate) string {
	numbers := lists.Map(authorities, func(ca *x509.Certificate) string { return fmt.Sprint(NumberOf(ca)) })
	return strings.Join(numbers, " ")
}

// signer is a CA whose private key is kept.
type signer struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

func newSigner(t *testing.T, template *x509.Certificate) signer {
	t.Helper()
	key := installtest.OrPanic(newKey(KeyECDSAP256))
	template.BasicConstraintsValid, template.IsCA = true, true
	cert := installtest.OrPanic(sign(template, nil, key, key))
	return signer{t, cert, key}
}

// issue signs a leaf for names.
func (s signer) issue(template *x509.Certificate) Generation {
	s.t.Helper()
	leafKey, err := newKey(KeyECDSAP256)
	installtest.Must(s.t, err)
	template.DNSNames = names
	leaf, err := sign(template, s.cert, leafKey, s.key)
	installtest.Must(s.t, err)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	installtest.Must(s.t, err)
	return Generation{
		CA:          encode(s.cert),
		Certificate: encode(leaf),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}
