package olmclient

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Bodies are sent and received as they are, and the answers to writes have only metadata.
func TestEncoded(t *testing.T) {
	var got []string
	c := newClient(t, rest.Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		as := ""
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			as = " metadata"
		}
		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+string(body)+as)
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}`)
			return
		}
		fmt.Fprint(w, `{"metadata": {"name": "operator", "resourceVersion": "7"}}`)
	})
	shop := c.EncodedClusterServiceVersions("shop")
	text := installtest.OrPanic(shop.Get(t.Context(), "operator"))
	installtest.Same(t, "object", `{"metadata": {"name": "operator", "resourceVersion": "7"}}`, string(text))
	created := installtest.OrPanic(shop.Create(t.Context(), []byte(`{"a": 1}`), metav1.CreateOptions{FieldManager: "test"}))
	installtest.Same(t, "resourceVersion of the created object", "7", created.ResourceVersion)
	if _, err := shop.Update(t.Context(), "operator", []byte(`{"a": 2}`), metav1.UpdateOptions{FieldManager: "test"}, "status"); !apierrors.IsConflict(err) {
		t.Errorf("a conflict is returned as %v", err)
	}
	const path = "/apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions"
	installtest.Same(t, "requests", []string{
		"GET " + path + "/operator ",
		"POST " + path + `?fieldManager=test {"a": 1} metadata`,
		"PUT " + path + `/operator/status?fieldManager=test {"a": 2} metadata`,
	}, got)
}
