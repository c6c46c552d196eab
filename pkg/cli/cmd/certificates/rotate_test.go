package certificates

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// shopAPI is an API server that knows one ClusterServiceVersion, and keeps the orders that it is sent. It refuses those
// that state no resourceVersion, and the first of them with a conflict. With forbidden, it refuses all.
func shopAPI(t *testing.T, provider managerv1alpha1.CertificateProvider, metadata, spec string, forbidden bool, patched func(order string)) *olmclient.Client {
	t.Helper()
	mux := http.NewServeMux()
	if provider != "" {
		mux.HandleFunc("GET /apis/olm-webhook-manager.io/v1alpha1/namespaces/shop/webhookrollouts/shop.v1", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"apiVersion": "olm-webhook-manager.io/v1alpha1", "kind": "WebhookRollout", "status": {"provider": %q}}`, provider)
		})
	}
	const path = " /apis/operators.coreos.com/v1alpha1/namespaces/shop/clusterserviceversions/shop.v1"
	version := 7
	mux.HandleFunc("GET"+path, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {%s "namespace": "shop", "resourceVersion": "%d", "generation": 1}, "spec": %s}`, metadata, version, spec)
	})
	mux.HandleFunc("PATCH"+path, func(w http.ResponseWriter, r *http.Request) {
		var patch struct {
			Metadata struct {
				Annotations     map[string]string
				ResourceVersion string
			}
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &patch)
		}
		if err != nil {
			t.Error(err)
		}
		if forbidden {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "you may not", "code": 403}`)
			return
		}
		known, dryRun := strconv.Itoa(version), r.URL.Query().Has("dryRun")
		if !dryRun {
			version++
		}
		if version == 8 && !dryRun || patch.Metadata.ResourceVersion != known {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409}`)
			return
		}
		if !dryRun {
			patched(patch.Metadata.Annotations[wellknown.AnnotationRotate])
		}
		fmt.Fprint(w, `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion"}`)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return installtest.OrPanic(olmclient.New(&rest.Config{Host: server.URL}))
}

// The command writes an order in the form that the manager reads, and prints its progress. It prints what fails before it
// writes, and asks. It writes nothing for a ClusterServiceVersion without certificates, or that no manager reconciles.
func TestRotate(t *testing.T) {
	const ordered, loses, stays = "rotation requested; to follow it: kubectl webhooks certificates -n shop\n", "v.shop.io: ", "the CA of cert-manager itself stays trusted"
	const asked = "cert-manager is asked to reissue the certificate; until then, pods serve the previous one\n"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		provider    managerv1alpha1.CertificateProvider // none for no WebhookRollout
		csv         string
		compromised bool
		metadata    string
		spec        string // none for a webhook
		forbidden   bool
		answer      error
		order       string
		says, fails []string
	}{
		"no manager has reconciled it": {compromised: true, fails: []string{"ClusterServiceVersion shop/shop.v1: nothing was requested: no manager has reconciled it, since it has no WebhookRollout"}},
		"a copy":                       {compromised: true, metadata: `"labels": {"olm.copiedFrom": "mall"}, "annotations": {"olm.operatorNamespace": "mall"},`, fails: []string{"nothing was requested: it is a copy", "with -n mall"}},
		"forbidden":                    {provider: "manager", compromised: true, forbidden: true, fails: []string{"ClusterServiceVersion shop/shop.v1: you may not"}},
		"not confirmed":                {provider: "manager", compromised: true, answer: errors.New("nothing was changed"), fails: []string{"nothing was changed"}},
		"the manager's":                {provider: "manager", order: "2026-03-01T12:00:00Z", says: []string{ordered}},
		"the manager's, compromised":   {provider: "manager", compromised: true, order: "compromised 2026-03-01T12:00:00Z", says: []string{ordered, loses}},
		"cert-manager's":               {provider: "cert-manager", order: "2026-03-01T12:00:00Z", says: []string{ordered, asked}},
		"cert-manager's, compromised":  {provider: "cert-manager", compromised: true, order: "compromised 2026-03-01T12:00:00Z", says: []string{ordered, asked, loses, stays}},
		"the administrator's":          {provider: "none", fails: []string{"nothing was requested", "the administrator manages its certificates", "replace them where they are created; or have the manager issue them, with olm-webhook-manager.io/certificate-provider: manager in spec.config.annotations of the Subscription"}},
		"without webhooks":             {provider: "manager", compromised: true, spec: "{}", fails: []string{"ClusterServiceVersion shop/shop.v1: nothing was requested: it declares no webhooks and owns no APIServices: it has no serving certificates"}},
		"of no ClusterServiceVersion":  {csv: "shop.v2", fails: []string{"ClusterServiceVersion shop/shop.v2"}},
		"the administrator's, at once": {provider: "none", compromised: true, fails: []string{"nothing was requested", "under another CA, and remove the old one from what is injected as caBundle", "have the manager issue them", "and request the rotation again when kubectl webhooks certificates shows PROVIDER manager"}},
	} {
		t.Run(name, func(t *testing.T) {
			var orders []string
			var out strings.Builder
			of := types.NamespacedName{Namespace: "shop", Name: "shop.v1"}
			if test.csv != "" {
				of.Name = test.csv
			}
			spec := cmp.Or(test.spec, `{"webhookdefinitions": [{"generateName": "v.shop.io", "type": "ValidatingAdmissionWebhook"}]}`)
			before, questions := "", 0
			api := shopAPI(t, test.provider, test.metadata, spec, test.forbidden, func(order string) { orders, before = append(orders, order), out.String() })
			err := rotate(t.Context(), output.New(&out), api, of, test.compromised, func() error {
				questions++
				installtest.Contains(t, out.String(), loses)
				return test.answer
			}, now)
			said, want := out.String(), test.says
			if err != nil {
				said, want = err.Error(), test.fails
			}
			if test.forbidden {
				installtest.Same(t, "output", "", out.String())
			}
			installtest.Same(t, "it asks", test.compromised && test.order != "" || test.answer != nil, questions == 1)
			if (err != nil) != (test.fails != nil) {
				t.Fatalf("it ends with %v and prints %q", err, out.String())
			}
			installtest.Contains(t, said, want...)
			for _, text := range []string{asked, loses, stays} {
				if strings.Contains(said, text) != strings.Contains(strings.Join(want, ""), text) {
					t.Errorf("%q has %q, or lacks it", said, text)
				}
			}
			if n := strings.Count(before, loses); (n == 1) != (test.order != "" && test.compromised) {
				t.Errorf("before the write, what fails was printed %d times: %q", n, before)
			}
			installtest.Same(t, "orders", test.order, strings.Join(orders, ", "))
		})
	}
}
