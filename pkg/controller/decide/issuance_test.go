package decide

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Every row of the table of providers has its request and its place in the documentation.
func TestEveryProviderIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../../docs/admin/certificate-providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range issuers.Providers {
		if (requests[p.Name] != nil) != issuers.HasController(p.Name) {
			t.Errorf("%s: no function requests its certificates, or one requests those of a provider without a controller", p.Name)
		}
		if !strings.Contains(string(page), string(p.Name)) {
			t.Errorf("%s is not documented", p.Name)
		}
	}
}

// An object of another client with the name of an order is reported, and not written.
func TestOrderUnderTheNameOfAnotherObject(t *testing.T) {
	order := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}}
		o.SetNamespace("shop")
		o.SetName("manager-service-cert")
		o.SetLabels(labels)
		return o
	}
	d := &decision{Facts: stageFacts(), now: now}
	desired := order(csvspec.OwnerLabels(d.CSV))
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		steps   int
		refusal string
	}{
		"absent":               {nil, 1, ""},
		"as desired":           {desired, 0, ""},
		"another client's":     {order(nil), 0, "Certificate shop/manager-service-cert is not the manager's: delete it, or choose another provider of certificates"},
		"of a deleted version": {order(map[string]string{"olm.managed": "true"}), 1, ""},
	} {
		var i issuance
		read := d.order(&i, desired, test.live)
		if len(i.steps) != test.steps || i.refusal != test.refusal || i.requeue.Never() != (test.refusal == "") {
			t.Errorf("%s: steps %v, refusal %q, requeue %v", name, i.steps, i.refusal, i.requeue)
		}
		if test.refusal != "" && read != nil {
			t.Errorf("%s: it is read", name)
		}
	}
}
