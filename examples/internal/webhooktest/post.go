// Package webhooktest calls an example's webhook like an API server.
package webhooktest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Post sends a review, and returns the answer.
func Post(t *testing.T, webhook hosting.Webhook, review *admissionv1.AdmissionReview) *httptest.ResponseRecorder {
	t.Helper()
	handler, err := hosting.NewHTTPHandler("webhook", webhook)
	installtest.Must(t, err)
	body, err := json.Marshal(review)
	installtest.Must(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path+"?timeout=30s", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// Review sends a review that must be answered with a review.
func Review(t *testing.T, webhook hosting.Webhook, review *admissionv1.AdmissionReview) admissionv1.AdmissionReview {
	t.Helper()
	recorder := Post(t, webhook, review)
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, recorder.Body)
	}
	return answer
}
