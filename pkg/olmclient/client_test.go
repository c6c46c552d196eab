package olmclient

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func newClient(t *testing.T, config rest.Config, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config.Host = server.URL
	c := installtest.OrPanic(New(&config))
	return c
}

// Each kind is read and written under the path of its resource.
func TestPaths(t *testing.T) {
	for name, test := range map[string]struct {
		call func(context.Context, *Client) error
		path string
	}{
		"WebhookRollout": {
			func(ctx context.Context, c *Client) error { return callAll(ctx, c.WebhookRollouts) },
			"/apis/olm-webhook-manager.io/v1alpha1 webhookrollouts",
		},
		"OperatorGroup": {
			func(ctx context.Context, c *Client) error { return callAll(ctx, c.OperatorGroups) },
			"/apis/operators.coreos.com/v1 operatorgroups",
		},
		"ClusterServiceVersion": {
			func(ctx context.Context, c *Client) error { return callAll(ctx, c.ClusterServiceVersions) },
			"/apis/operators.coreos.com/v1alpha1 clusterserviceversions",
		},
		"Subscription": {
			func(ctx context.Context, c *Client) error { return callAll(ctx, c.Subscriptions) },
			"/apis/operators.coreos.com/v1alpha1 subscriptions",
		},
		"InstallPlan": {
			func(ctx context.Context, c *Client) error { return callAll(ctx, c.InstallPlans) },
			"/apis/operators.coreos.com/v1alpha1 installplans",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			c := newClient(t, rest.Config{}, func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Method+" "+r.URL.RequestURI())
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"metadata": {"name": "operator"}}`)
			})
			installtest.Must(t, test.call(t.Context(), c))
			version, resource, _ := strings.Cut(test.path, " ")
			shop := version + "/namespaces/shop/" + resource
			want := []string{
				"GET " + shop + "/operator",
				"PUT " + shop + "/operator/status?fieldManager=test",
				"GET " + version + "/" + resource + "?limit=1",
			}
			installtest.Same(t, "requests", want, got)
		})
	}
}

func callAll[O any, P object[O], L runtime.Object](ctx context.Context, of func(namespace string) *gentype.ClientWithList[P, L]) error {
	shop := of("shop")
	o, err := shop.Get(ctx, "operator", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, err := shop.UpdateStatus(ctx, o, metav1.UpdateOptions{FieldManager: "test"}); err != nil {
		return err
	}
	_, err = of(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// An Operator has no namespace.
func TestPathOfOperators(t *testing.T) {
	var got []string
	c := newClient(t, rest.Config{}, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"metadata": {"name": "etcd.shop"}}`)
	})
	_, err := c.Operators().Get(t.Context(), "etcd.shop", metav1.GetOptions{})
	installtest.Must(t, err)
	installtest.Same(t, "requests", []string{"GET /apis/operators.coreos.com/v1/operators/etcd.shop"}, got)
}

// Requests have the user agent of the configuration, or the default one, and accept JSON.
func TestHeaders(t *testing.T) {
	for configured, want := range map[string]string{"": rest.DefaultKubernetesUserAgent(), "test/1": "test/1"} {
		var headers []http.Header
		c := newClient(t, rest.Config{UserAgent: configured}, func(w http.ResponseWriter, r *http.Request) {
			headers = append(headers, r.Header)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"metadata": {"name": "operator"}}`)
		})
		for _, err := range []error{
			callAll(t.Context(), c.WebhookRollouts), callAll(t.Context(), c.OperatorGroups), callAll(t.Context(), c.InstallPlans),
		} {
			installtest.Must(t, err)
		}
		for _, h := range headers {
			installtest.Same(t, "User-Agent", want, h.Get("User-Agent"))
			installtest.Same(t, "Accept", "application/json, */*", h.Get("Accept"))
		}
	}
}
