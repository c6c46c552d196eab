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
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

const configuration = "shop-pods"

func register(t *testing.T, s *session) []byte {
	t.Helper()
	hostingtest.Must(t, s.write(t.Context(), podsWebhook))
	l, err := s.read(t.Context(), podsWebhook)
	if err != nil || len(l.configs) != 1 {
		t.Fatalf("the configuration is %+v, %v", l, err)
	}
	return l.configs[0].CABundle
}

var podsWebhook = Webhook{Name: "pods", Form: Validating, Settings: admissionregistrationv1.MutatingWebhook{
	Rules: []admissionregistrationv1.RuleWithOperations{{}}, FailurePolicy: new(admissionregistrationv1.Ignore),
}}

func newSession(options Options, ca []byte, existing ...runtime.Object) (*session, *dynamicfake.FakeDynamicClient) {
	options.client.Service = &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "hooks"}
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, existing...)
	return &session{Registrar: &Registrar{Process: "shop", Options: &options}, client: fake.NewClientset(), dynamic: client, caBundle: ca}, client
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
			s, _ := newSession(options, own, registered(append(bytes.Clone(first), expired...), second))
			bundle := register(t, s)
			for what, ca := range map[string][]byte{"of the process": own, "of a replica": first, "of a webhook that another client added": second} {
				hostingtest.Same(t, "the caBundle has the CA "+what, true, bytes.Contains(bundle, bytes.TrimSpace(ca)))
			}
			hostingtest.Same(t, "the caBundle has an expired CA", false, bytes.Contains(bundle, bytes.TrimSpace(expired)))
		})
	}
	t.Run("API servers use their own roots", func(t *testing.T) {
		s, _ := newSession(Options{}, nil)
		hostingtest.Same(t, "the caBundle", "", string(register(t, s)))
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
			s, _ := newSession(Options{}, nil, existing)
			err := s.write(t.Context(), podsWebhook)
			hostingtest.Same(t, "it is refused", test.refused, err != nil && strings.Contains(err.Error(), "Service mall/hooks"))
		})
	}
}

func TestRegistrationListsPodsAfterTheRead(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "shop")
	now := time.Now()
	created, deleted := newCA(t, pod.Owner("shop", "created"), now), newCA(t, pod.Owner("shop", "deleted"), now)
	s, client := newSession(Options{SelfSigned: true}, newCA(t, "", now), registered(append(bytes.Clone(created), deleted...)))
	client.PrependReactor("get", "validatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "created", UID: "created"}}
		_ = s.client.(*fake.Clientset).Tracker().Add(p) // it exists already at the second read
		return false, nil, nil
	})
	bundle := register(t, s)
	hostingtest.Same(t, "the caBundle has the CA of a pod that exists", true, bytes.Contains(bundle, bytes.TrimSpace(created)))
	hostingtest.Same(t, "the caBundle has the CA of a pod that was deleted", false, bytes.Contains(bundle, bytes.TrimSpace(deleted)))
}
