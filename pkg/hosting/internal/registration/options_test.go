package registration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestRegistrationOptions(t *testing.T) {
	service := func(port int32) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "hooks", Path: ptr.To("/p"), Port: &port},
			CABundle: []byte("ca"),
		}
	}
	at := func(url string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: []byte("ca")}
	}
	for name, test := range map[string]struct {
		service, url string
		want         admissionregistrationv1.WebhookClientConfig
		hosts        []string
		err          string
	}{
		"service":            {service: "shop/hooks", want: service(443), hosts: []string{"hooks.shop.svc", "hooks.shop.svc.cluster.local"}},
		"service with port":  {service: "shop/hooks:8443", want: service(8443), hosts: []string{"hooks.shop.svc", "hooks.shop.svc.cluster.local"}},
		"url":                {url: "https://127.0.0.1:9443", want: at("https://127.0.0.1:9443/p"), hosts: []string{"127.0.0.1"}},
		"url with a slash":   {url: "https://localhost:9443/", want: at("https://localhost:9443/p"), hosts: []string{"localhost"}},
		"url of IPv6":        {url: "https://[::1]:9443", want: at("https://[::1]:9443/p"), hosts: []string{"::1"}},
		"neither":            {err: "one of --webhook-service and --webhook-url"},
		"both":               {service: "shop/hooks", url: "https://127.0.0.1:9443", err: "one of --webhook-service and --webhook-url"},
		"no namespace":       {service: "hooks", err: "--webhook-service=hooks"},
		"too many parts":     {service: "a/b/c", err: "--webhook-service=a/b/c"},
		"port 0":             {service: "a/b:0", err: "--webhook-service"},
		"port too large":     {service: "a/b:65536", err: "--webhook-service"},
		"port no number":     {service: "a/b:https", err: "--webhook-service"},
		"url without TLS":    {url: "http://127.0.0.1:9443", err: "--webhook-url"},
		"url with a path":    {url: "https://127.0.0.1:9443/hooks", err: "--webhook-url"},
		"url without a host": {url: "https://:9443", err: "--webhook-url"},
		"url with a query":   {url: "https://127.0.0.1:9443?a=b", err: "--webhook-url"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Enabled: true, service: test.service, url: test.url}
			err := o.Complete("shop-hooks")
			if test.err != "" {
				hostingtest.Error(t, test.err, err)
				return
			}
			hostingtest.Must(t, err)
			hostingtest.Same(t, "client config", test.want, o.clientConfig("/p", []byte("ca")))
			hostingtest.Same(t, "hosts", test.hosts, o.hosts)
			hostingtest.Same(t, "one webhook's path stays in the next one's configuration", false, cmp.Equal(test.want, o.clientConfig("/q", nil)))
		})
	}
}

func TestCertificateSecret(t *testing.T) {
	for name, test := range map[string]struct {
		options  Options
		pod      string // namespace
		want     string
		mistaken bool
	}{
		"Service's namespace": {options: Options{Enabled: true, SelfSigned: true, service: "shop/hooks"}, pod: "elsewhere", want: "shop/label-hooks-certificate"},
		"pod's namespace":     {options: Options{Enabled: true, SelfSigned: true, url: "https://127.0.0.1:9443"}, pod: "elsewhere", want: "elsewhere/label-certificate"},
		"outside a pod":       {options: Options{Enabled: true, SelfSigned: true, url: "https://127.0.0.1:9443"}, want: "/"},
		"as named":            {options: Options{Enabled: true, SelfSigned: true, service: "shop/hooks", secret: "vault/pair"}, want: "vault/pair"},
		"not registered":      {options: Options{SelfSigned: true, service: "shop/hooks"}, want: "/"},
		"another certificate": {options: Options{Enabled: true, service: "shop/hooks"}, want: "/"},
		"without a namespace": {options: Options{Enabled: true, SelfSigned: true, service: "shop/hooks", secret: "pair"}, mistaken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", test.pod)
			o := test.options
			err := o.Complete("label")
			if (err != nil) != test.mistaken {
				t.Fatalf("got %v", err)
			}
			if got := o.secretNamespace + "/" + o.secretName; err == nil && got != test.want {
				t.Errorf("the Secret is %s, want %s", got, test.want)
			}
		})
	}
}
