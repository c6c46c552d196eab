package decide

import (
	"os"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
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
