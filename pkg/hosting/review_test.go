package hosting_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

const (
	podKind    = `"kind":{"group":"","version":"v1","kind":"Pod"}`
	podObject  = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}`
	goodReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` + podKind + `,"operation":"CREATE","object":` + podObject + `}}`
)

var pods = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}

// judging decides by the annotation of the pod.
func judging(mutate bool) hosting.Webhook {
	obey := func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
		switch r.Object.Annotations["do"] {
		case "deny":
			r.Warn("think of %s", "it")
			return hosting.Deny("pod %s is not good", r.Object.Name)
		case "invalid":
			return fmt.Errorf("wrapped: %w", hosting.DenyStatus(metav1.Status{Message: "bad", Reason: metav1.StatusReasonInvalid, Code: 422}))
		case "fail":
			return errors.New("the lookup failed")
		case "panic":
			panic("oops")
		case "speak":
			r.Warn("one")
			r.Warn("two")
			r.Annotate("seen", "yes")
		case "label":
			r.Object.Labels = map[string]string{"seen": "yes"}
		case "prepend":
			r.Object.Spec.Tolerations = append([]corev1.Toleration{{Key: "new"}}, r.Object.Spec.Tolerations...)
		}
		return nil
	}
	w := hosting.Webhook{Kinds: pods, Handler: hosting.Validating(obey)}
	if mutate {
		w.Handler = hosting.Mutating(obey)
	}
	return w
}

func handlerOf(t testing.TB, w hosting.Webhook) http.Handler {
	t.Helper()
	handler, err := hosting.NewHTTPHandler("pods", w)
	hostingtest.Must(t, err)
	return handler
}

func post(handler http.Handler, body string) *httptest.ResponseRecorder {
	return postFor("30s", handler, body)
}

func postFor(timeout string, handler http.Handler, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/pods?timeout="+timeout, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

func failureOf(t testing.TB, response *httptest.ResponseRecorder) metav1.Status {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal(response.Body.Bytes(), &status); err != nil {
		t.Fatalf("HTTP %d with %q: %v", response.Code, response.Body, err)
	}
	if int(status.Code) != response.Code || status.Status != metav1.StatusFailure || status.Kind != "Status" || status.Message == "" {
		t.Errorf("HTTP %d with %+v", response.Code, status)
	}
	return status
}

func TestVerdicts(t *testing.T) {
	patchType := admissionv1.PatchTypeJSONPatch
	for do, want := range map[string]admissionv1.AdmissionResponse{
		"":        {Allowed: true},
		"deny":    {Warnings: []string{"think of it"}, Result: &metav1.Status{Status: "Failure", Message: "pod p is not good", Reason: "Forbidden", Code: 403}},
		"invalid": {Result: &metav1.Status{Status: "Failure", Message: "bad", Reason: "Invalid", Code: 422}},
		"speak":   {Allowed: true, Warnings: []string{"one", "two"}, AuditAnnotations: map[string]string{"seen": "yes"}},
		"label":   {Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]`)},
	} {
		t.Run(do, func(t *testing.T) {
			response := post(handlerOf(t, judging(true)), asking(do))
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil || response.Code != http.StatusOK {
				t.Fatalf("HTTP %d with %q: %v", response.Code, response.Body, err)
			}
			want.UID = "u"
			hostingtest.Same(t, "review", &want, got.Response)
			if got.APIVersion != "admission.k8s.io/v1" || got.Kind != "AdmissionReview" {
				t.Errorf("answered with %+v", got.TypeMeta)
			}
		})
	}
}

func asking(do string) string {
	return strings.Replace(goodReview, `"name":"p"`, `"name":"p","annotations":{"do":"`+do+`"}`, 1)
}

func TestHandlersThatFail(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	const late = "the handler did not return by the call's deadline"
	for name, test := range map[string]struct {
		handle  func(ctx context.Context) error
		timeout time.Duration
		code    int32
		reason  metav1.StatusReason
		message string
	}{
		"an error":              {func(context.Context) error { return errors.New("the lookup failed") }, time.Minute, 500, metav1.StatusReasonInternalError, "the lookup failed"},
		"a panic":               {func(context.Context) error { panic("oops") }, time.Minute, 500, metav1.StatusReasonInternalError, "the handler panicked: oops"},
		"an end of a goroutine": {func(context.Context) error { goruntime.Goexit(); return nil }, time.Minute, 500, metav1.StatusReasonInternalError, "ended its goroutine"},
		"an error too late":     {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 20 * time.Millisecond, 504, metav1.StatusReasonTimeout, late},
		"a verdict too late":    {func(ctx context.Context) error { <-ctx.Done(); return nil }, 20 * time.Millisecond, 504, metav1.StatusReasonTimeout, late},
		"no return":             {func(context.Context) error { <-proceed; return nil }, 20 * time.Millisecond, 504, metav1.StatusReasonTimeout, late},
	} {
		t.Run(name, func(t *testing.T) {
			handler := handlerOf(t, hosting.Webhook{Kinds: pods, Handler: hosting.Validating(func(ctx context.Context, r hosting.Request[*corev1.Pod]) error {
				if r.Object.Annotations["do"] == "fail" {
					return test.handle(ctx)
				}
				return nil
			})})
			began := time.Now()
			response := postFor(test.timeout.String(), handler, asking("fail"))
			if took := time.Since(began); test.code == http.StatusGatewayTimeout && took < test.timeout {
				t.Errorf("the call ended after %s", took)
			}
			wantFailure(t, response, test.code, test.message)
			hostingtest.Same(t, "the reason", test.reason, failureOf(t, response).Reason)
			hostingtest.Same(t, "the status of the next call", http.StatusOK, post(handler, goodReview).Code)
		})
	}
}

func TestMalformedCalls(t *testing.T) {
	handler := handlerOf(t, judging(false))
	for name, test := range map[string]struct {
		method, query, contentType string
		code                       int32
		message                    string
	}{
		"GET":                 {method: http.MethodGet, code: 405, message: "accepts POST"},
		"PUT":                 {method: http.MethodPut, code: 405, message: "accepts POST"},
		"no content type":     {contentType: "-", code: 415, message: "accepts application/json"},
		"YAML":                {contentType: "application/yaml", code: 415, message: `"application/yaml"`},
		"two content types":   {contentType: "application/json, text/plain", code: 415, message: "accepts application/json"},
		"timeout of nothing":  {query: "?timeout=0s", code: 400, message: `timeout="0s"`},
		"timeout of less":     {query: "?timeout=-1s", code: 400, message: `timeout="-1s"`},
		"timeout in no unit":  {query: "?timeout=10", code: 400, message: `timeout="10"`},
		"good, with charset":  {contentType: "application/json; charset=utf-8", code: 200},
		"good, no timeout":    {query: "?", code: 200},
		"good, for very long": {query: "?timeout=87600h", code: 200},
	} {
		t.Run(name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			request := httptest.NewRequest(test.method, "/pods"+test.query, strings.NewReader(goodReview))
			switch test.contentType {
			case "-":
			case "":
				request.Header.Set("Content-Type", "application/json")
			default:
				request.Header.Set("Content-Type", test.contentType)
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			wantFailure(t, response, test.code, test.message)
		})
	}
}

func TestMalformedBodies(t *testing.T) {
	replace := func(part, by string) string { return strings.Replace(goodReview, part, by, 1) }
	handler := handlerOf(t, judging(true))
	for name, test := range map[string]struct {
		body    string
		code    int32
		message string
	}{
		"nothing":               {``, 400, "does not decode"},
		"no JSON":               {`<xml/>`, 400, "does not decode"},
		"half":                  {goodReview[:100], 400, "does not decode"},
		"two":                   {goodReview + goodReview, 400, "does not decode"},
		"null":                  {`null`, 400, `accepts AdmissionReview of "v1"`},
		"a list":                {`[]`, 400, "does not decode"},
		"an empty object":       {`{}`, 400, `accepts AdmissionReview of "v1"`},
		"another kind":          {replace("AdmissionReview", "ConversionReview"), 400, `"ConversionReview"`},
		"a version not asked":   {replace("k8s.io/v1", "k8s.io/v1beta1"), 400, `"admission.k8s.io/v1beta1"`},
		"a kind in wrong case":  {replace("AdmissionReview", "admissionreview"), 400, `"admissionreview"`},
		"a field in wrong case": {replace(`"request"`, `"Request"`), 400, "no request"},
		"no request":            {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400, "no request"},
		"a null request":        {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, 400, "no request"},
		"a request of text":     {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":"x"}`, 400, "does not decode"},
		"an answer":             {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u"}}`, 400, "no request"},
		"no UID":                {replace(`"uid":"u",`, ``), 400, "request.uid is missing"},
		"an empty UID":          {replace(`"uid":"u"`, `"uid":""`), 400, "request.uid is missing"},
		"a UID of numbers":      {replace(`"uid":"u"`, `"uid":1`), 400, "does not decode"},
		"another object":        {replace(`"kind":"Pod"`, `"kind":"Node"`), 400, `this webhook accepts "/v1, Kind=Pod"`},
		"another object's fields": {
			`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Node"},"operation":"CREATE","object":{"spec":"x"}}}`,
			400, `this webhook accepts "/v1, Kind=Pod"`,
		},
		"no kind":                           {replace(podKind+",", ""), 400, `this webhook accepts "/v1, Kind=Pod"`},
		"another operation":                 {replace("CREATE", "DELETE"), 400, `this webhook accepts "CREATE" and "UPDATE"`},
		"an operation of none":              {replace("CREATE", "create"), 400, `request.operation is "create"`},
		"no object":                         {replace(`,"object":`+podObject, ``), 400, "request.object is missing"},
		"a null object":                     {replace(podObject, `null`), 400, "request.object is missing"},
		"no old object":                     {replace("CREATE", "UPDATE"), 400, "request.oldObject is missing"},
		"an object of text":                 {replace(podObject, `"x"`), 400, "does not decode"},
		"an object's field of another type": {replace(`"containers":[{"name":"c"}]`, `"containers":{"name":"c"}`), 400, "does not decode"},
		"very deep":                         {replace(podObject, strings.Repeat(`{"a":`, 20000)+`1`+strings.Repeat(`}`, 20000)), 400, "does not decode"},
		"a number too large":                {replace(`"name":"p"`, `"name":"p","generation":1e400`), 400, "does not decode"},
		"too large":                         {replace(`"name":"p"`, `"name":"`+strings.Repeat("p", 7<<20)+`"`), 413, "7340032 bytes"},
		"good, with unknown fields":         {replace(`"uid"`, `"novel":{"a":[1]},"uid"`), 200, ""},
		"good, but no UTF-8":                {replace(`"name":"p"`, "\"name\":\"\xff\xfe\""), 200, ""},
		"good, with a null old one":         {replace(`"operation"`, `"oldObject":null,"operation"`), 200, ""},
		"good, with a name in NULs":         {replace(`"name":"p"`, `"name":"\u0000"`), 200, ""},
		"good, with fifty thousand in a list": {
			strings.Replace(asking("prepend"), `"containers"`, `"tolerations":[`+strings.Repeat(`{"key":"k","operator":"Exists"},`, 49_999)+`{"key":"k"}],"containers"`, 1), 200, "",
		},
		"good, as large as it may be": {replace(`"name":"p"`, `"name":"`+strings.Repeat("p", 7<<20-len(goodReview))+`"`), 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, post(handler, test.body), test.code, test.message)
		})
	}
}

func wantFailure(t *testing.T, response *httptest.ResponseRecorder, code int32, message string) {
	t.Helper()
	if int(code) != response.Code {
		t.Errorf("HTTP %d with %.300q, want %d", response.Code, response.Body, code)
	}
	if code == http.StatusOK {
		return
	}
	if status := failureOf(t, response); !strings.Contains(status.Message, message) {
		t.Errorf("the message is %.300q, want %q", status.Message, message)
	}
}

func TestObjectsInOtherTypes(t *testing.T) {
	t.Run("bytes as they came", func(t *testing.T) {
		var raw string
		post(handlerOf(t, hosting.Webhook{Kinds: pods, Handler: hosting.Validating(
			func(_ context.Context, r hosting.Request[*runtime.Unknown]) error {
				raw = string(r.Object.Raw)
				return nil
			},
		)}), goodReview)
		hostingtest.Same(t, "the raw object", podObject, raw)
	})
	t.Run("metadata alone", func(t *testing.T) {
		response := post(handlerOf(t, hosting.Webhook{Kinds: pods, Handler: hosting.Mutating(
			func(_ context.Context, r hosting.Request[*metav1.PartialObjectMetadata]) error {
				r.Object.Labels = map[string]string{"a": "b"}
				return nil
			},
		)}), goodReview)
		var got admissionv1.AdmissionReview
		hostingtest.Must(t, json.Unmarshal(response.Body.Bytes(), &got))
		hostingtest.Same(t, "the patch", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, string(got.Response.Patch))
	})
}
