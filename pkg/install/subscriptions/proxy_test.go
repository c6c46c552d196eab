package subscriptions

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWithProxy(t *testing.T) {
	proxy := Proxy{HTTP: "http://p:3128", HTTPS: "https://p:3129", NoProxy: ".svc,10.0.0.0/8"}
	http, https := corev1.EnvVar{Name: "HTTP_PROXY", Value: "http://p:3128"}, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "https://p:3129"}
	none, level := corev1.EnvVar{Name: "NO_PROXY", Value: ".svc,10.0.0.0/8"}, corev1.EnvVar{Name: "LEVEL", Value: "debug"}
	for name, test := range map[string]struct {
		configured []corev1.EnvVar
		proxy      Proxy
		want       []corev1.EnvVar
	}{
		"no proxy":                       {configured: []corev1.EnvVar{level}, want: []corev1.EnvVar{level}},
		"no config":                      {proxy: proxy, want: []corev1.EnvVar{http, https, none}},
		"next to other variables":        {configured: []corev1.EnvVar{level}, proxy: proxy, want: []corev1.EnvVar{level, http, https, none}},
		"an empty field is no variable":  {proxy: Proxy{HTTPS: proxy.HTTPS}, want: []corev1.EnvVar{https}},
		"one of the three is configured": {configured: []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}}, proxy: proxy, want: []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}}},
		"one is configured to be empty":  {configured: []corev1.EnvVar{{Name: "HTTPS_PROXY"}}, proxy: proxy, want: []corev1.EnvVar{{Name: "HTTPS_PROXY"}}},
		"a name in lower case is another": {
			configured: []corev1.EnvVar{{Name: "http_proxy", Value: "x"}}, proxy: proxy,
			want: []corev1.EnvVar{{Name: "http_proxy", Value: "x"}, http, https, none},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := append(make([]corev1.EnvVar, 0, 9), test.configured...) // its capacity would be shared
			config := Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{Env: env}}
			installtest.Same(t, "variables", test.want, config.WithProxy(test.proxy).Env)
			installtest.Same(t, "what is configured", append(test.configured, corev1.EnvVar{}), env[:len(env)+1])
		})
	}
}

// The proxy is what OpenShift's controller writes into the status.
func TestProxyOf(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"httpProxy": "http://refused:1"},
		"status": map[string]any{"httpProxy": "http://p:3128", "httpsProxy": 7, "noProxy": ".svc"},
	}}
	installtest.Same(t, "the proxy", Proxy{HTTP: "http://p:3128", NoProxy: ".svc"}, ProxyOf(object))
	installtest.Same(t, "the proxy of an object without status", Proxy{}, ProxyOf(&unstructured.Unstructured{}))
}
