package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
)

// TestWriteInFlight starts the command while a webhook holds a create. The API server stores that object in v2,
// after the storage version has become v1 and every other object is stored in v1. The command waits
// for it.
func TestWriteInFlight(t *testing.T) {
	e := newConvertedEnv(t)
	e.Fill(t, upTo)
	isHeld := e.holdCreate("held", 6*time.Second)
	created := make(chan error, 1)
	go func() { created <- e.createNamed("held", metav1.CreateOptions{}) }()
	e.eventually(func() (bool, any) { return isHeld(), nil })
	e.migrate(true, "--api-server-request-timeout=12s")
	select {
	case err := <-created:
		e.must(err)
	default:
		t.Error("the command has ended before the create")
		e.must(<-created)
	}
	if stored := e.stored(); stored["v1"] != upTo+1 || len(stored) != 1 {
		t.Errorf("stored are %v after the migration", stored)
	}
}

func (e *env) createNamed(name string, options metav1.CreateOptions) error {
	cache := caches.New(convert.V2, name, map[string]any{"replicas": int64(1), "resources": map[string]any{"memory": "1Gi"}})
	_, err := e.In(convert.V2).Create(e.Context(), cache, options)
	return err
}

// holdCreate registers a mutating webhook that answers the create of one object late, and returns when it
// is called for others. isHeld reports whether it holds the create.
func (e *env) holdCreate(name string, pause time.Duration) (isHeld func() bool) {
	e.Helper()
	var called, held atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		called.Store(true)
		if review.Request.Name == name {
			held.Store(true)
			<-time.After(pause) // the write is in flight
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // The API server reports a connection that breaks.
	}))
	e.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(cluster.Config())
	e.must(err)
	webhooks := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	const configuration = "hold-one-create"
	_, err = webhooks.Create(e.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "hold.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{convert.V1.Group}, APIVersions: []string{"*"}, Resources: []string{"caches"}},
			}},
		}},
	}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { e.must(webhooks.Delete(context.Background(), configuration, metav1.DeleteOptions{})) })
	e.eventually(func() (bool, any) {
		return called.Load(), e.createNamed("probe", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	})
	return held.Load
}

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
