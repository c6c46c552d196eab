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

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// TestWriteInFlight starts the command while a webhook holds a create. The API server stores that object in v2
// although the storage version is v1 by then. The command waits for it.
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
	e.isMigrated(upTo + 1)
}

func (e *env) createNamed(name string, options metav1.CreateOptions) error {
	cache := caches.New(convert.V2, name, map[string]any{"replicas": int64(1), "resources": map[string]any{"memory": "1Gi"}})
	_, err := e.In(convert.V2).Create(e.Context(), cache, options)
	return err
}

// webhook returns the client configuration, for a registration, of a server that allows or denies by the name of the object.
func (e *env) webhook(allows func(name string) bool) admissionregistrationv1.WebhookClientConfig {
	e.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allows(review.Request.Name)}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // The API server reports a connection that breaks.
	}))
	e.Cleanup(server.Close)
	return admissionregistrationv1.WebhookClientConfig{
		URL:      &server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

func ruleFor(operation admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{operation},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{convert.V1.Group}, APIVersions: []string{"*"}, Resources: []string{"caches"}},
	}}
}

// holdCreate registers a mutating webhook that answers the create of one object late. isHeld reports whether it does.
func (e *env) holdCreate(name string, pause time.Duration) (isHeld func() bool) {
	e.Helper()
	var called, held atomic.Bool
	config := e.webhook(func(created string) bool {
		called.Store(true)
		if created == name {
			held.Store(true)
			<-time.After(pause) // the write is in flight
		}
		return true
	})
	kube.CreateTemporary(e, e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hold-one-create"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "hold.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
			ClientConfig: config, Rules: ruleFor(admissionregistrationv1.Create),
		}},
	})
	e.eventually(func() (bool, any) {
		return called.Load(), e.createNamed("probe", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	})
	return held.Load
}

const protected = "cache-0003"

// refuse registers a webhook that refuses updates of the protected object, and returns when it is called.
func (e *env) refuse() (allow func()) {
	e.Helper()
	webhooks := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := kube.Create(e, webhooks, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "protect-one-cache"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "protect.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: e.webhook(func(name string) bool { return name != protected }), Rules: ruleFor(admissionregistrationv1.Update),
		}},
	})
	allow = sync.OnceFunc(func() {
		e.must(webhooks.Delete(context.Background(), configuration.Name, metav1.DeleteOptions{}))
		if e.Context().Err() == nil {
			e.eventually(func() (bool, any) { return !e.isRefused(), nil })
		}
	})
	e.Cleanup(allow)
	e.eventually(func() (bool, any) { return e.isRefused(), nil })
	return allow
}

func (e *env) isRefused() bool {
	_, err := e.In(convert.V2).Patch(e.Context(), protected, types.MergePatchType, []byte(`{"metadata":{"annotations":{"try":"again"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err != nil
}
