package rollout

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func newCA(t *testing.T, organization string) []byte {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	installtest.Must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{organization}}, NotAfter: noon.Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der := installtest.OrPanic(x509.CreateCertificate(nil, template, template, public, key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// conversionWith returns a desired conversion with generation 1.
func conversionWith(bundle []byte) render.Conversion {
	return render.Conversion{CRD: "things.example.com", Generation: 1, Spec: apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: bundle, Service: &apiextensionsv1.ServiceReference{
				Namespace: "shop", Name: "manager-service", Path: new("/convert"), Port: new(int32(443)),
			}},
		},
	}}
}

func convertingCluster(t *testing.T, c render.Conversion) *cluster {
	cluster := clusterWith(t)
	live := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: c.CRD, UID: "u", ResourceVersion: "1", Annotations: map[string]string{"olm-webhook-manager.io/certificate-generation": "1"}}}
	live.Spec.Conversion = c.Spec.DeepCopy()
	cluster.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{c.CRD: live}
	cluster.Previous = managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{{
		Type: operatorsv1alpha1.ConversionWebhook, State: managerv1alpha1.WebhookRegistered, CRDs: []string{c.CRD},
	}}}}}
	return cluster
}

func (c *cluster) reconcileConversion(desired render.Conversion) (writes int) {
	p := newPlanner(c.Input, c.now)
	p.plan.ensureConversions([]render.Conversion{desired})
	for _, step := range p.plan.Steps {
		live := c.Observed.CRDs[desired.CRD].DeepCopy() // the cached object must not change
		c.Observed.CRDs[desired.CRD] = live
		live.Spec.Conversion = step.Object.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion.DeepCopy()
		live.ManagedFields = nil
		if c.admit != nil {
			c.admit(live)
		}
		c.Observed.Writes[step.Key()] = drift.WriteOf(step.Desired, live)
		if change, refused := c.Observed.Writes[step.Key()].Refused(); refused {
			c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(change, c.now)
		} else if step.IsRepair(c.Previous, c.Observed.Contests) {
			c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(step.Drift, c.now)
		}
	}
	return len(p.plan.Steps)
}

func (c *cluster) injectCABundle(client string, bundle []byte) {
	live := c.Observed.CRDs["things.example.com"]
	live.Spec.Conversion.Webhook.ClientConfig.CABundle = bundle
	live.ManagedFields = []metav1.ManagedFieldsEntry{wrote(client, `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}`)}
}

// Repairs of a definition's caBundle are limited for one client, two clients in turn, and an admission policy.
func TestContestOfAConversion(t *testing.T) {
	for name, test := range map[string]struct {
		undo  func(c *cluster, i int)
		admit func(drift.Object)
		limit int
	}{
		"one client": {func(c *cluster, _ int) { c.injectCABundle("cainjector", []byte("other")) }, nil, 3},
		"two clients": {func(c *cluster, i int) {
			c.injectCABundle(fmt.Sprint("client-", i%2), []byte("other"))
		}, nil, 6},
		"clients with a new name each time": {func(c *cluster, i int) { c.injectCABundle(fmt.Sprint("client-", i), []byte("other")) }, nil, repairsByAllClients},
		"a client without managed fields": {func(c *cluster, _ int) {
			c.injectCABundle("cainjector", nil)
			c.Observed.CRDs["things.example.com"].ManagedFields = nil
		}, nil, repairsByAllClients + 1},
		"another Service": {func(c *cluster, _ int) {
			c.Observed.CRDs["things.example.com"].Spec.Conversion.Webhook.ClientConfig.Service.Name = "other"
		}, nil, 3},
		"admission": {func(c *cluster, i int) {
			if i == 0 {
				c.injectCABundle("olm-webhook-manager", []byte("other"))
			}
		}, func(o drift.Object) {
			o.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("other")
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			desired := conversionWith(newCA(t, "olm-webhook-manager"))
			c := convertingCluster(t, desired)
			c.admit = test.admit
			writes := 0
			for i := range 500 {
				test.undo(c, i)
				writes += c.reconcileConversion(desired)
				c.wait(20 * time.Millisecond)
			}
			if writes == 0 || writes > test.limit {
				t.Errorf("%d writes in 10 s, want at most %d", writes, test.limit)
			}
			installtest.Same(t, "contested", true, c.Observed.Contests["CustomResourceDefinition things.example.com"].Contested())
			next := conversionWith(slices.Concat(desired.Spec.Webhook.ClientConfig.CABundle, newCA(t, "olm-webhook-manager")))
			next.Generation = 2
			if test.admit != nil && c.reconcileConversion(next) != 1 {
				t.Error("the trust in the next certificate is not written")
			}
		})
	}
}

// A caBundle that verifies the certificate of the pods is not changed, even if another client wrote it.
func TestConversionThatIsVerified(t *testing.T) {
	ours, old, theirs := newCA(t, "olm-webhook-manager"), newCA(t, "olm-webhook-manager"), newCA(t, "cert-manager")
	for name, test := range map[string]struct {
		bundle   []byte
		by       string
		provider managerv1alpha1.CertificateProvider
		want     int
	}{
		"unchanged":                              {ours, "cainjector", "", 0},
		"with a comment":                         {slices.Concat([]byte("# ours\n"), ours), "cainjector", "", 0},
		"with another CA":                        {slices.Concat(theirs, ours), "cainjector", "", 0},
		"with another CA, and an issuer":         {slices.Concat(theirs, ours), "cainjector", managerv1alpha1.ProviderCertManager, 1},
		"with a comment, and an issuer":          {slices.Concat([]byte("# ours\n"), ours), "cainjector", managerv1alpha1.ProviderCertManager, 0},
		"another CA alone":                       {theirs, "cainjector", "", 1},
		"with a removed CA":                      {slices.Concat(ours, old), "cainjector", "", 1},
		"with another CA that the manager wrote": {slices.Concat(theirs, ours), "olm-webhook-manager", "", 1},
		"no caBundle":                            {nil, "cainjector", "", 1},
		"unreadable":                             {[]byte("other"), "cainjector", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := convertingCluster(t, conversionWith(ours))
			c.Provider = test.provider
			c.injectCABundle(test.by, test.bundle)
			installtest.Same(t, "writes", test.want, c.reconcileConversion(conversionWith(ours)))
		})
	}
}
