package registration

import (
	"bytes"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

const configuration = "shop-pods"

func register(t *testing.T, client *fake.Clientset, options Options, ca []byte) []byte {
	t.Helper()
	hostingtest.Must(t, sessionOf(client, options, ca).write(t.Context(), podsWebhook))
	live, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), configuration, metav1.GetOptions{})
	if err != nil || len(live.Webhooks) != 1 {
		t.Fatalf("the configuration is %+v, %v", live, err)
	}
	return live.Webhooks[0].ClientConfig.CABundle
}

var podsWebhook = Webhook{Name: "pods", Form: Validating, Settings: Settings{Rules: []admissionregistrationv1.RuleWithOperations{{}}}}

func sessionOf(client *fake.Clientset, options Options, ca []byte) *session {
	options.client.Service = &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "hooks"}
	return &session{Registrar: &Registrar{Process: "shop", Options: &options}, client: client, caBundle: ca}
}

func newCA(t *testing.T, owner string, signed time.Time) []byte {
	t.Helper()
	pair, err := certificates.SelfSigned([]string{"127.0.0.1"}, owner, signed, time.Hour)
	hostingtest.Must(t, err)
	return pair.CA
}

func registered(bundles ...[]byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configuration}}
	for _, bundle := range bundles {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: bundle}})
	}
	return c
}

// Another replica serves under another CA until the kubelet of its node has replaced its files.
func TestRegistrationKeepsTheCAsOfOtherReplicas(t *testing.T) {
	now := time.Now()
	own, first, second, expired := newCA(t, "", now), newCA(t, "", now), newCA(t, "", now), newCA(t, "", now.Add(-2*time.Hour))
	for name, options := range map[string]Options{"files": {}, "self-signed": {SelfSigned: true}} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(registered(append(bytes.Clone(first), expired...), second))
			bundle := register(t, client, options, own)
			for what, ca := range map[string][]byte{"of the process": own, "of a replica": first, "of a webhook that another client added": second} {
				if !bytes.Contains(bundle, bytes.TrimSpace(ca)) {
					t.Errorf("the caBundle lacks the CA %s", what)
				}
			}
			if bytes.Contains(bundle, bytes.TrimSpace(expired)) {
				t.Error("the caBundle has an expired CA")
			}
		})
	}
	t.Run("API servers use their own roots", func(t *testing.T) {
		if bundle := register(t, fake.NewClientset(), Options{}, nil); len(bundle) > 0 {
			t.Errorf("the caBundle is %q", bundle)
		}
	})
}

// Two installations of one program have the same names of registrations, and each its own Service.
func TestRegistrationOfAnotherService(t *testing.T) {
	url := "https://127.0.0.1:9443/pods"
	for name, test := range map[string]struct {
		calls   admissionregistrationv1.WebhookClientConfig
		refused bool
	}{
		"of another installation": {admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "mall", Name: "hooks"}}, true},
		"of this one":             {admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "hooks"}}, false},
		"a URL":                   {admissionregistrationv1.WebhookClientConfig{URL: &url}, false},
	} {
		t.Run(name, func(t *testing.T) {
			existing := registered(nil)
			existing.Webhooks[0].ClientConfig = test.calls
			s := sessionOf(fake.NewClientset(existing), Options{}, nil)
			err := s.write(t.Context(), podsWebhook)
			if refused := err != nil && strings.Contains(err.Error(), "Service mall/hooks"); refused != test.refused {
				t.Errorf("the registration ends with %v", err)
			}
		})
	}
}

func TestRegistrationListsPodsAfterTheRead(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "shop")
	now := time.Now()
	created, deleted := newCA(t, pod.Owner("shop", "created"), now), newCA(t, pod.Owner("shop", "deleted"), now)
	client := fake.NewClientset(registered(append(bytes.Clone(created), deleted...)))
	client.PrependReactor("get", "validatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "created", UID: "created"}}
		_ = client.Tracker().Add(p) // it exists already at the second read
		return false, nil, nil
	})
	bundle := register(t, client, Options{SelfSigned: true}, newCA(t, "", now))
	if !bytes.Contains(bundle, bytes.TrimSpace(created)) {
		t.Error("the caBundle lacks the CA of a pod that exists")
	}
	if bytes.Contains(bundle, bytes.TrimSpace(deleted)) {
		t.Error("the caBundle has the CA of a pod that was deleted")
	}
}
