package rollout

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// convertedCRD is a definition converted by a Service of the namespace "operators". A
// version with a leading "-" is not served.
func convertedCRD(service string, stored []string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", UID: "u", ResourceVersion: "7"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service: &apiextensionsv1.ServiceReference{Namespace: "operators", Name: service},
			}},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
	}
	for _, v := range versions {
		name, hidden := strings.CutPrefix(v, "-")
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: !hidden})
	}
	return crd
}

func TestEndConversions(t *testing.T) {
	const ends, asks, holds, leaves = "ends", "asks for its objects", "is held", "is left alone"
	tests := map[string]struct {
		crd     *apiextensionsv1.CustomResourceDefinition
		objects string // "", "none", "some"
		force   bool
		want    string
	}{
		"two versions, not counted yet":                 {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "", false, asks},
		"two versions, no objects":                      {convertedCRD("server-service", []string{"v1", "v2"}, "v1", "v2"), "none", false, ends},
		"two versions, objects":                         {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "some", false, holds},
		"one version served and the only one stored":    {convertedCRD("server-service", []string{"v2"}, "-v1", "v2"), "", false, ends},
		"one version served, another was stored before": {convertedCRD("server-service", []string{"v1", "v2"}, "-v1", "v2"), "some", false, holds},
		"one version served, another one stored":        {convertedCRD("server-service", []string{"v1"}, "-v1", "v2"), "some", false, holds},
		"objects, forced":                               {convertedCRD("server-service", []string{"v2"}, "v1", "v2"), "some", true, ends},
		"somebody else's":                               {convertedCRD("other", []string{"v2"}, "v1", "v2"), "none", false, leaves},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			populated := map[string]bool{}
			if test.objects != "" {
				populated[test.crd.Name] = test.objects == "some"
			}
			end := EndConversions("operators", map[string]bool{"server-service": true}, []*apiextensionsv1.CustomResourceDefinition{test.crd}, populated, test.force)
			got := leaves
			switch {
			case len(end.Steps) == 1:
				got = ends
				conversion := end.Steps[0].Object.(*apiextensionsv1.CustomResourceDefinition)
				if conversion.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter || conversion.UID != "u" || conversion.ResourceVersion != "7" {
					t.Errorf("the write is %+v", conversion)
				}
			case len(end.Count) == 1:
				got = asks
			case end.InUse != "":
				got = holds
			}
			if got != test.want {
				t.Errorf("the conversion %s, want: it %s", got, test.want)
			}
		})
	}
}

// A new certificate waits until the definitions that it converts trust it.
func TestSecretWaitsForTheTrustOfConversions(t *testing.T) {
	conversion := install.Conversion{CRD: "things.example.com", Spec: *convertedCRD("server-service", nil).Spec.Conversion.DeepCopy()}
	conversion.Spec.Webhook.ClientConfig.CABundle = []byte("old and new")
	live := convertedCRD("server-service", nil, "v1")
	live.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("old")
	d := install.Deployment{Webhooks: []install.Webhook{{
		Description: operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook}, Conversions: []install.Conversion{conversion},
	}}}
	p := planner{Input: Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}}
	if p.trusted(d) {
		t.Error("the definition trusts the old CA only, and nothing is planned")
	}
	p.wantConversions(d.Webhooks[0].Conversions)
	if !p.trusted(d) {
		t.Error("the plan makes the definition trust the new CA")
	}
}
