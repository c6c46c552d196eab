package uninstall

import (
	"net/http"
	"testing"
)

func TestDescribeWrite(t *testing.T) {
	for want, request := range map[string][2]string{
		"delete validatingwebhookconfigurations.admissionregistration.k8s.io v.shop.io-x": {http.MethodDelete, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v.shop.io-x"},
		"change clusterserviceversions.operators.coreos.com shop/shop.v1":                 {http.MethodPatch, "/apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions/shop.v1"},
		"change clusterserviceversions.operators.coreos.com shop/shop.v1/status":          {http.MethodPut, "/apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions/shop.v1/status"},
		"create secrets":             {http.MethodPost, "/api/v1/namespaces/shop/secrets"},
		"delete secrets shop/cert":   {http.MethodDelete, "/api/v1/namespaces/shop/secrets/cert"},
		"change namespaces shop":     {http.MethodPatch, "/api/v1/namespaces/shop"},
		"change /something/that/not": {http.MethodPatch, "/something/that/not"},
	} {
		if got := describeWrite(request[0], request[1]); got != want {
			t.Errorf("%s %s: %q, want %q", request[0], request[1], got, want)
		}
	}
}
