package integration

import (
	"crypto/ed25519"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// What a Subscription chooses for its operator's certificate is served, and its risks are reported.
func TestCertificateAsTheSubscriptionChooses(t *testing.T) {
	e := newOperatorEnv(t)
	choose(e, managerv1alpha1.ProviderManager, wellknown.AnnotationCertificateKey, "ed25519", wellknown.AnnotationCertificateValidity, "240h")
	runOperator(e)
	leaf := servingCertificate(e).Leaf
	if _, ok := leaf.PublicKey.(ed25519.PublicKey); !ok {
		t.Errorf("the key is a %T, want Ed25519", leaf.PublicKey)
	}
	if life, want := leaf.NotAfter.Sub(leaf.NotBefore), 240*time.Hour+certs.DefaultPolicy().ClockSkew; life != want {
		t.Errorf("the certificate is valid for %s, want %s", life, want)
	}
	e.says("Ed25519 keys are refused by API servers and webhook servers that were built with a FIPS 140 module")
}
