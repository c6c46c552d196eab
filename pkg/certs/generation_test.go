package certs

import (
	"bytes"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

func TestFill(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(60*day))
	old := holding(first)
	old.Labels["shop"] = "kept"
	old.Annotations["shop"] = "kept"
	old.Data["shop"] = []byte("kept")
	old.ResourceVersion = "41"

	got := Fill(old, second, Decision{Trust: first.CA})

	if got.Type != corev1.SecretTypeTLS || got.ResourceVersion != "41" {
		t.Errorf("type is %q and resource version %q", got.Type, got.ResourceVersion)
	}
	for text, pair := range map[string][2]string{
		"label " + vocabulary.LabelManaged:              {got.Labels[vocabulary.LabelManaged], "true"},
		"annotation " + vocabulary.AnnotationCAHash:     {got.Annotations[vocabulary.AnnotationCAHash], hexSHA256(second.CA)},
		"annotation " + vocabulary.AnnotationGeneration: {got.Annotations[vocabulary.AnnotationGeneration], "2"},
		"somebody's label":                              {got.Labels["shop"], "kept"},
		"somebody's annotation":                         {got.Annotations["shop"], "kept"},
		"somebody's key":                                {string(got.Data["shop"]), "kept"},
		"key " + corev1.TLSCertKey:                      {string(got.Data[corev1.TLSCertKey]), string(second.Certificate)},
		"key " + corev1.TLSPrivateKeyKey:                {string(got.Data[corev1.TLSPrivateKeyKey]), string(second.Key)},
		"key " + vocabulary.KeyCA:                       {string(got.Data[vocabulary.KeyCA]), string(second.CA)},
		"key " + vocabulary.KeyOLMCA:                    {string(got.Data[vocabulary.KeyOLMCA]), string(second.CA)},
		"key " + vocabulary.KeyPreviousCAs:              {string(got.Data[vocabulary.KeyPreviousCAs]), string(first.CA)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", text, pair[0], pair[1])
		}
	}
}

func TestFillForgetsPreviousCAsThatNobodyTrusts(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(200*day))
	got := Fill(holding(second, first), second, Decision{})
	if previous, found := got.Data[vocabulary.KeyPreviousCAs]; found {
		t.Errorf("%s is still %q", vocabulary.KeyPreviousCAs, previous)
	}
}

// What is published before the Secret is written must be what is published after,
// or each generation would cost every registration a second write.
func TestTrustIsTheSameOnBothSidesOfTheWrite(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, start)
	var many []Generation
	for range 12 {
		many = append(many, minted(t, 3, start))
	}
	for name, f := range map[string]Facts{
		"bootstrap":                {},
		"due":                      {Secret: holding(first), Registered: [][]byte{first.CA}},
		"lost":                     {Registered: [][]byte{cas(first, second)}},
		"due, with many before it": {Secret: holding(first, many...), Registered: [][]byte{first.CA}},
		"lost, with many before":   {Registered: [][]byte{cas(many...)}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Names = names
			now := after(61 * day)
			d := Decide(f, DefaultPolicy(), now)
			g := mint(t, *d.Mint)
			published := g.Trust(d)
			if f.Secret == nil {
				f.Secret = blank()
			}
			f.Secret = Fill(f.Secret, g, d)
			if after := Decide(f, DefaultPolicy(), now); after.Mint != nil || !bytes.Equal(after.Trust, published) {
				t.Errorf("%d CAs are trusted before the write, and %d after it", len(parse(published)), len(parse(after.Trust)))
			}
			if n := len(parse(published)); n > maxAuthorities {
				t.Errorf("%d CAs are published", n)
			}
		})
	}
}

func TestAnInfiniteRowOfLossesCutsNobodyOff(t *testing.T) {
	const losses = 50
	t.Run("no Secret was ever stored: the first generation is served", func(t *testing.T) {
		served := minted(t, 1, start)
		published := served.CA
		for range losses {
			published = recoverFrom(t, published).published
		}
		if err := verifies(served.Certificate, published, start); err != nil {
			t.Error(err)
		}
	})
	t.Run("every Secret was stored: one of the last generations is served", func(t *testing.T) {
		written := []Generation{minted(t, 1, start)}
		published := written[0].CA
		for range losses {
			r := recoverFrom(t, published)
			written, published = append(written, r.minted), r.published
		}
		for _, g := range slices.Backward(written[losses-3:]) {
			if err := verifies(g.Certificate, published, start); err != nil {
				t.Errorf("generation %d of %d: %v", g.Number, losses+1, err)
			}
		}
	})
}

type recovery struct {
	minted    Generation
	published []byte
}

// recoverFrom mints and publishes what a lost Secret asks for.
func recoverFrom(t *testing.T, registered []byte) recovery {
	t.Helper()
	d := Decide(Facts{Registered: [][]byte{registered}, Names: names}, DefaultPolicy(), start)
	g := mint(t, *d.Mint)
	return recovery{minted: g, published: g.Trust(d)}
}
