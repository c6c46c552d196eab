package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// held is what a Secret turned out to hold.
type held struct {
	serving     *Serving            // nil: nothing that can be served
	renew       time.Time           // when serving is due
	authorities []*x509.Certificate // the current CA first, then earlier ones, newest first
	number      int64               // of the newest generation that the Secret knows
	turns       []time.Time         // when the judgement changes by itself
	problem     string
	spoiled     bool // the Secret does not tell which CA the pods serve
}

// foreign says why a Secret is not the manager's to write; empty when it is.
func foreign(secret *corev1.Secret) string {
	var sign string
	switch {
	case secret == nil:
		return ""
	case secret.Type != corev1.SecretTypeTLS:
		sign = fmt.Sprintf("has type %q instead of %q", secret.Type, corev1.SecretTypeTLS)
	case secret.Labels[vocabulary.LabelManaged] != "true":
		sign = fmt.Sprintf("lacks the label %s=true", vocabulary.LabelManaged)
	default:
		return ""
	}
	return fmt.Sprintf("Secret %s/%s %s, so it belongs to somebody else and is left alone; "+
		"the serving certificate needs this name: delete the Secret or give it another name",
		secret.Namespace, secret.Name, sign)
}

// read judges a Secret that is the manager's, or absent.
func read(secret *corev1.Secret, names []string, now time.Time) held {
	if secret == nil {
		return held{spoiled: true, problem: "the Secret with the serving certificate is gone; a new certificate replaces it"}
	}
	key, current := currentCAs(secret)
	previous := parse(secret.Data[vocabulary.KeyPreviousCAs])
	h := held{
		authorities: slices.Concat(current, previous),
		turns:       turns(secret, current),
	}
	h.number = max(annotatedNumber(secret), highestNumber(h.authorities))

	chain, bad := servable(secret, key, current, names, now)
	if bad != nil {
		h.spoiled = bad.spoiled
		h.problem = fmt.Sprintf("Secret %s/%s: %s; a new certificate replaces it", secret.Namespace, secret.Name, bad.text)
		return h
	}
	ca := chain[len(chain)-1]
	h.authorities = append([]*x509.Certificate{ca}, previous...)
	h.renew = renewAt(chain)
	h.turns = append(h.turns, h.renew)
	h.serving = &Serving{
		Number:        max(annotatedNumber(secret), numberOf(ca)),
		CA:            encode(ca),
		CAHash:        hexSHA256(encode(ca)),
		CAFingerprint: hexSHA256(ca.Raw),
		NotAfter:      end(chain),
	}
	return h
}

// currentCAs are the certificates of the CA that signed the leaf, and the key that
// they stand under: OLM v0 has no ca.crt, and its Secrets are taken over as they are.
func currentCAs(secret *corev1.Secret) (string, []*x509.Certificate) {
	key := vocabulary.KeyCA
	if len(secret.Data[key]) == 0 && len(secret.Data[vocabulary.KeyOLMCA]) > 0 {
		key = vocabulary.KeyOLMCA
	}
	return key, parse(secret.Data[key])
}

// turns are the instants at which the leaf or a current CA begins or ends.
func turns(secret *corev1.Secret, current []*x509.Certificate) []time.Time {
	var instants []time.Time
	for _, c := range slices.Concat(parse(secret.Data[corev1.TLSCertKey]), current) {
		instants = append(instants, c.NotBefore, c.NotAfter)
	}
	return instants
}
