package certificates

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPrintCertificates(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	rollout := func(namespace string, c *managerv1alpha1.CertificateStatus) managerv1alpha1.WebhookRollout {
		return managerv1alpha1.WebhookRollout{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop.v1"},
			Status:     managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", Certificate: c}, {Name: "operator"}}},
		}
	}
	all := certificatesOf([]managerv1alpha1.WebhookRollout{
		rollout("shop", &managerv1alpha1.CertificateStatus{
			Provider: "manager", Phase: managerv1alpha1.CertificatePromoting, Generation: 2, CAFingerprint: strings.Repeat("ab", 32),
			Secret:   "manager-service-2-cert",
			NotAfter: &at, RenewalTime: &at, Endpoints: &managerv1alpha1.CertificateEndpoints{Total: 2, Updated: 1, Outdated: 1}, Message: "pod b serves another",
		}),
		rollout("mall", &managerv1alpha1.CertificateStatus{Provider: "manager", Secret: "manager-service-cert", Phase: managerv1alpha1.CertificateBootstrap}),
	})
	for format, want := range map[string]string{
		"": `NAMESPACE   CSV       DEPLOYMENT   PROVIDER   PHASE       EXPIRES                ROTATES                CA             ENDPOINTS
mall        shop.v1   manager      manager    Bootstrap   -                      -                      -              -
shop        shop.v1   manager      manager    Promoting   2026-03-01T12:00:00Z   2026-03-01T12:00:00Z   abababababab   1/2 new, 1 old, 0 unknown
shop/shop.v1 manager: pod b serves another
`,
		"wide": `NAMESPACE   CSV       DEPLOYMENT   PROVIDER   PHASE       EXPIRES                ROTATES                CA             ENDPOINTS                   GENERATION
mall        shop.v1   manager      manager    Bootstrap   -                      -                      -              -                           0
shop        shop.v1   manager      manager    Promoting   2026-03-01T12:00:00Z   2026-03-01T12:00:00Z   abababababab   1/2 new, 1 old, 0 unknown   2
shop/shop.v1 manager: pod b serves another
`,
		"name": "secret/manager-service-cert\nsecret/manager-service-2-cert\n",
	} {
		var out strings.Builder
		installtest.Must(t, printCertificates(output.New(&out), flags.Output{Format: format}, all))
		installtest.Same(t, "-o "+format, want, out.String())
	}
}

// Before it removes a trusted CA at once, the command reports which calls fail.
func TestLosses(t *testing.T) {
	ignore := admissionregistrationv1.Ignore
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"}, Rule: admissionregistrationv1.Rule{Resources: []string{"pods", "services"}},
	}
	csv := installtest.Owning(&operatorsv1alpha1.ClusterServiceVersion{}, "Pond", "server", 443)
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		{GenerateName: "v.example.com", Rules: []admissionregistrationv1.RuleWithOperations{rule}},
		{GenerateName: "m.example.com", Rules: []admissionregistrationv1.RuleWithOperations{rule}, FailurePolicy: &ignore},
		{GenerateName: "c.example.com", Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{"things.example.com"}},
	}
	var out strings.Builder
	printLosses(output.New(&out), csv)
	said := out.String()
	installtest.Contains(t, said,
		"v1.ponds.example.com: reading and writing of Pond fails",
		"v.example.com: CREATE/UPDATE of pods, services fails",
		"m.example.com: CREATE/UPDATE of pods, services is not checked",
		"c.example.com: reading and writing things.example.com in other versions than the stored one fails",
	)
}
