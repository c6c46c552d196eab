package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

func TestRequestsThatAreNoReview(t *testing.T) {
	create, err := os.ReadFile(filepath.Join("testdata", "create.json"))
	if err != nil {
		t.Fatal(err)
	}
	const contentType = "application/json"
	tests := map[string]struct {
		method, contentType, body string

		wantStatus int
		wantBody   string
	}{
		"GET": {
			method: http.MethodGet, contentType: contentType, body: string(create),
			wantStatus: http.StatusMethodNotAllowed, wantBody: "an AdmissionReview is sent by POST, not by GET",
		},
		"no content type": {
			method: http.MethodPost, body: string(create),
			wantStatus: http.StatusUnsupportedMediaType, wantBody: `Content-Type is "", expected application/json`,
		},
		"YAML": {
			method: http.MethodPost, contentType: "application/yaml", body: string(create),
			wantStatus: http.StatusUnsupportedMediaType, wantBody: `Content-Type is "application/yaml", expected application/json`,
		},
		"an empty body": {
			method: http.MethodPost, contentType: contentType,
			wantStatus: http.StatusBadRequest, wantBody: "the body is not an AdmissionReview: unexpected end of JSON input",
		},
		"half a body": {
			method: http.MethodPost, contentType: contentType, body: string(create[:len(create)/2]),
			wantStatus: http.StatusBadRequest, wantBody: "the body is not an AdmissionReview: unexpected end of JSON input",
		},
		"another version of AdmissionReview": {
			method: http.MethodPost, contentType: contentType, body: strings.Replace(string(create), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
			wantStatus: http.StatusBadRequest, wantBody: `the body is a "AdmissionReview" of "admission.k8s.io/v1beta1", expected an AdmissionReview of admission.k8s.io/v1`,
		},
		"another kind": {
			method: http.MethodPost, contentType: contentType, body: `{"apiVersion":"v1","kind":"Namespace"}`,
			wantStatus: http.StatusBadRequest, wantBody: `the body is a "Namespace" of "v1", expected an AdmissionReview of admission.k8s.io/v1`,
		},
		"an answer instead of a question": {
			method: http.MethodPost, contentType: contentType, body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}`,
			wantStatus: http.StatusBadRequest, wantBody: "the AdmissionReview has no request",
		},
		"more than two of the largest objects": {
			method: http.MethodPost, contentType: contentType, body: strings.Repeat(" ", maxReviewBytes) + string(create),
			wantStatus: http.StatusRequestEntityTooLarge, wantBody: "the body is larger than 8388608 bytes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(test.method, webhookPath, strings.NewReader(test.body))
			request.Header.Set("Content-Type", test.contentType)
			recorder := httptest.NewRecorder()
			newReviewHandler(newJudge("", func() *ruleset { return &ruleset{} })).ServeHTTP(recorder, request)

			if recorder.Code != test.wantStatus || strings.TrimSpace(recorder.Body.String()) != test.wantBody {
				t.Errorf("got %d %s\nwant %d %s", recorder.Code, recorder.Body, test.wantStatus, test.wantBody)
			}
		})
	}
}

func TestTheLargestReviewIsRead(t *testing.T) {
	review := readTestdata(t, "update-labels.json")
	filler := bytes.Repeat([]byte("x"), 3<<20)
	for _, raw := range []*[]byte{&review.Request.Object.Raw, &review.Request.OldObject.Raw} {
		*raw = bytes.Replace(*raw, []byte(`"metadata":{`), append(append([]byte(`"metadata":{"annotations":{"filler":"`), filler...), `"},`...), 1)
	}
	rules := inForce(t, "names", policy.Spec{NamePattern: "shop"})
	got := post(t, newReviewHandler(newJudge("", func() *ruleset { return &rules })), review)
	if !got.Response.Allowed {
		t.Errorf("denied: %v", got.Response.Result)
	}
}

// post sends the review the way the API server does and returns the answer.
func post(t *testing.T, handler http.Handler, review *admissionv1.AdmissionReview) admissionv1.AdmissionReview {
	t.Helper()
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	response, err := http.Post(server.URL+webhookPath+"?timeout=5s", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("status %s, content type %q: %s", response.Status, response.Header.Get("Content-Type"), answer)
	}
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return got
}
