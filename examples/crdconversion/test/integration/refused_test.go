package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

const protected = "cache-0003"

// refuse registers a webhook that refuses updates of the protected object, and returns when it is
// called.
func (e *env) refuse() (allow func()) {
	e.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(refuseProtected))
	e.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(cluster.Config())
	e.must(err)
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	const name = "protect-one-cache"
	_, err = webhooks.Create(e.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "protect.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{convert.V1.Group}, APIVersions: []string{"*"}, Resources: []string{"caches"}},
			}},
		}},
	}, metav1.CreateOptions{})
	e.must(err)
	allow = sync.OnceFunc(func() {
		e.must(webhooks.Delete(context.Background(), name, metav1.DeleteOptions{}))
		if e.Context().Err() == nil {
			e.eventually(func() (bool, any) { return !e.isRefused(), nil })
		}
	})
	e.Cleanup(allow)
	e.eventually(func() (bool, any) { return e.isRefused(), nil })
	return allow
}

func refuseProtected(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: review.Request.Name != protected}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // The API server reports a connection that breaks.
}

func (e *env) isRefused() bool {
	_, err := e.In(convert.V2).Patch(e.Context(), protected, types.MergePatchType, []byte(`{"metadata":{"annotations":{"try":"again"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err != nil
}
