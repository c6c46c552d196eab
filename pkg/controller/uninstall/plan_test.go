package uninstall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		installtest.Same(t, request[0]+" "+request[1], want, describeWrite(request[0], request[1]))
	}
}

// A deletion becomes a dry run, and keeps its other options, however a client encodes them.
func TestDryDeletion(t *testing.T) {
	sent := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("a"), PropagationPolicy: new(metav1.DeletePropagationForeground)}
	encoded := func(mediaType string) []byte {
		info, known := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		if !known {
			t.Fatalf("no encoder for %s", mediaType)
		}
		return installtest.OrPanic(runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), &sent))
	}
	for name, body := range map[string][]byte{"JSON": encoded(runtime.ContentTypeJSON), "protobuf": encoded(runtime.ContentTypeProtobuf), "none": nil} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://a/api/v1/namespaces/shop/secrets/cert", bytes.NewReader(body))
			installtest.Must(t, err)
			dry, err := dryDeletion(r)
			installtest.Must(t, err)
			text := installtest.OrPanic(io.ReadAll(dry.Body))
			var got metav1.DeleteOptions
			installtest.Must(t, json.Unmarshal(text, &got))
			want := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, DryRun: []string{"All"}}
			if len(body) > 0 {
				want.Preconditions, want.PropagationPolicy = sent.Preconditions, sent.PropagationPolicy
			}
			installtest.Same(t, "options", want, got)
			installtest.Same(t, "Content-Type", runtime.ContentTypeJSON, dry.Header.Get("Content-Type"))
			installtest.Same(t, "Content-Length", int64(len(text)), dry.ContentLength)
		})
	}
}

// A refusal is recorded; another error is the caller's.
func TestRefusedDeletion(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   []string
	}{
		"forbidden": {`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"secrets \"cert\" is forbidden: not you","reason":"Forbidden","code":403}`, []string{"the API server refuses to delete secrets shop/cert: not you"}},
		"not found": {`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found","reason":"NotFound","code":404}`, nil},
		"conflict":  {`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the UID differs","reason":"Conflict","code":409}`, nil},
		"no Status": {"bad gateway", nil},
	} {
		installtest.Same(t, name, test.want, refusedDeletion("/api/v1/namespaces/shop/secrets/cert", []byte(test.answer)))
	}
}

// A webhook that is unregistered first does not refuse the writes after it, and does refuse those before it.
func TestRefusalsByUnregisteredWebhooks(t *testing.T) {
	const configuration, roles = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/shop", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a"
	answers := map[string]string{
		"DELETE " + configuration: `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"GET " + roles:            `{"kind":"ClusterRole"}`,
	}
	denying := "v.shop.io"
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, known := answers[r.Method+" "+r.URL.Path]
		code := http.StatusOK
		if !known {
			answer, code = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"admission webhook \"%s\" denied the request: no"}`, denying), http.StatusForbidden
		}
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
	})
	p := &writePlan{registered: map[string]sets.Set[string]{
		"v.shop.io": sets.New("validatingwebhookconfigurations/shop"),
		"v.mall.io": sets.New("validatingwebhookconfigurations/shop", "validatingwebhookconfigurations/mall"),
	}}
	codes := func(method, path string) int {
		r := installtest.OrPanic(http.NewRequestWithContext(t.Context(), method, "http://a"+path, http.NoBody))
		response, err := p.send(r, next)
		installtest.Must(t, err)
		return response.StatusCode
	}
	installtest.Same(t, "a patch before it", http.StatusForbidden, codes(http.MethodPatch, roles))
	installtest.Same(t, "a deletion before it", http.StatusOK, codes(http.MethodDelete, roles))
	installtest.Same(t, "refusals before it", 1, len(p.Refused))
	installtest.Same(t, "the deletion of the configuration", http.StatusOK, codes(http.MethodDelete, configuration))
	installtest.Same(t, "a patch after it", http.StatusOK, codes(http.MethodPatch, roles))
	installtest.Same(t, "a deletion after it", http.StatusOK, codes(http.MethodDelete, roles))
	installtest.Same(t, "refusals after it", 1, len(p.Refused))
	denying = "v.mall.io"
	installtest.Same(t, "a patch that a webhook of another configuration refuses", http.StatusForbidden, codes(http.MethodPatch, roles))
	installtest.Same(t, "writes", 6, len(p.Writes))
}
