package hosting_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	sigsjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// FuzzReview sends random bodies to webhooks of every form. API servers must accept each answer: a
// review for the request, or an HTTP error with a status.
func FuzzReview(f *testing.F) {
	for _, do := range []string{"", "deny", "invalid", "fail", "panic", "speak", "label"} {
		f.Add([]byte(asking(do)))
	}
	f.Add([]byte(converting("house.example.com/v1", v1Window, v2Window, v3Window)))
	f.Add([]byte(converting("house.example.com/v3", v1Window, `null`, `{"apiVersion":"house.example.com/v2","kind":"Window","metadata":[]}`)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{"a":[[[[]]]]}}}`))

	admissions := map[string]http.Handler{
		"validating": handlerOf(f, judging(false)),
		"mutating":   handlerOf(f, judging(true)),
		"unstructured": handlerOf(f, hosting.Webhook{
			Kinds:      pods,
			Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect},
			Handler:    hosting.Mutating(shuffle),
		}),
		"typed": handlerOf(f, hosting.Webhook{Kinds: pods, Handler: hosting.Mutating(rebuild)}),
	}
	conversions := handlerOf(f, hosting.Webhook{Handler: windows()})
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, handler := range admissions {
			t.Log(name)
			checkAdmission(t, body, post(handler, string(body)), name != "validating")
		}
		checkConversion(t, body, post(conversions, string(body)))
	})
}

func shuffle(_ context.Context, r hosting.Request[*unstructured.Unstructured]) error {
	if r.Object == nil {
		return nil
	}
	for key, value := range r.Object.Object {
		switch value := value.(type) {
		case []any:
			r.Object.Object[key] = append([]any{"new"}, value...)
		case map[string]any:
			value["new/~"] = []any{}
		case string:
			delete(r.Object.Object, key)
		}
	}
	return nil
}

// rebuild changes lists in all ways that patches distinguish.
func rebuild(_ context.Context, r hosting.Request[*corev1.Pod]) error {
	spec := &r.Object.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "new"})
	spec.Tolerations = append([]corev1.Toleration{{Key: "new"}}, spec.Tolerations...)
	for i := range spec.Containers {
		spec.Containers[i].Image += "x"
	}
	if len(spec.InitContainers) > 1 {
		spec.InitContainers = spec.InitContainers[1:]
	}
	r.Object.Labels = nil
	return nil
}

func checkAdmission(t *testing.T, body []byte, response *httptest.ResponseRecorder, mutating bool) {
	t.Helper()
	if response.Code != http.StatusOK {
		failureOf(t, response)
		return
	}
	var question, answer admissionv1.AdmissionReview
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(body, &question); err != nil {
		t.Fatalf("%q is answered, but does not decode: %v", body, err)
	}
	if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil {
		t.Fatalf("answered with %q: %v", response.Body, err)
	}
	verdict, err := webhookrequest.VerifyAdmissionResponse(question.Request.UID, mutating, &answer)
	if err != nil {
		t.Fatalf("the API server would refuse %q: %v", response.Body, err)
	}
	if len(verdict.Patch) == 0 {
		return
	}
	patch, err := jsonpatch.DecodePatch(verdict.Patch)
	if err != nil {
		t.Fatalf("patch %s: %v", verdict.Patch, err)
	}
	if _, err := patch.Apply(question.Request.Object.Raw); err != nil {
		t.Fatalf("patch %s does not apply to %s: %v", verdict.Patch, question.Request.Object.Raw, err)
	}
}

func checkConversion(t *testing.T, body []byte, response *httptest.ResponseRecorder) {
	t.Helper()
	if response.Code != http.StatusOK {
		failureOf(t, response)
		return
	}
	var question apiextensionsv1.ConversionReview
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(body, &question); err != nil {
		t.Fatalf("%q is answered, but does not decode: %v", body, err)
	}
	answer := conversionIn(t, response)
	hostingtest.Same(t, "the UID of the answer", question.Request.UID, answer.UID)
	switch result := answer.Result; result.Status {
	case metav1.StatusSuccess:
		hostingtest.Same(t, "the number of converted objects", len(question.Request.Objects), len(answer.ConvertedObjects))
	case metav1.StatusFailure:
		if result.Message == "" {
			t.Error("a failure without a message")
		}
	default:
		t.Errorf("status %q", result.Status)
	}
}
