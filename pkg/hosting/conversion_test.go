package hosting_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// window has three versions: v1 has one size, v2, the hub, has width and height, v3 has a list of both.
type window struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              string `json:"size,omitempty"`
	Width             string `json:"width,omitempty"`
	Height            string `json:"height,omitempty"`
}

func (w *window) DeepCopyObject() runtime.Object {
	c := *w
	c.ObjectMeta = *w.DeepCopy()
	return &c
}

func windowKind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "house.example.com", Version: version, Kind: "Window"}
}

func windows() hosting.Handler {
	return hosting.Conversion(windowKind("v2"),
		hosting.Spoke(windowKind("v1"),
			func(from, to *window) error {
				var ok bool
				if to.Width, to.Height, ok = strings.Cut(from.Size, "x"); !ok {
					return fmt.Errorf("size %q is not WIDTHxHEIGHT", from.Size)
				}
				return nil
			},
			func(from, to *window) error {
				to.Size = from.Width + "x" + from.Height
				delete(to.Labels, "was")
				return nil
			}),
		hosting.Spoke(windowKind("v3"),
			func(from *unstructured.Unstructured, to *window) error {
				sizes, _, err := unstructured.NestedStringSlice(from.Object, "sizes")
				if err != nil || len(sizes) != 2 {
					return errors.New("sizes is not a list of two")
				}
				to.Width, to.Height = sizes[0], sizes[1]
				return nil
			},
			func(from *window, to *unstructured.Unstructured) error {
				return unstructured.SetNestedStringSlice(to.Object, []string{from.Width, from.Height}, "sizes")
			}))
}

const (
	metadata = `"metadata":{"name":"w","namespace":"n","uid":"1","creationTimestamp":"2020-01-01T00:00:00Z","labels":{"was":"here"},"finalizers":["f"]}`
	bare     = `"metadata":{"name":"w","namespace":"n","uid":"1","creationTimestamp":"2020-01-01T00:00:00Z","finalizers":["f"]}`
	v1Window = `{"apiVersion":"house.example.com/v1","kind":"Window",` + metadata + `,"size":"2x3"}`
	v1Bare   = `{"apiVersion":"house.example.com/v1","kind":"Window",` + bare + `,"size":"2x3"}`
	v2Window = `{"apiVersion":"house.example.com/v2","kind":"Window",` + metadata + `,"width":"2","height":"3"}`
	v3Window = `{"apiVersion":"house.example.com/v3","kind":"Window",` + metadata + `,"sizes":["2","3"]}`
)

func converting(to string, objects ...string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"` + to +
		`","objects":[` + strings.Join(objects, ",") + `]}}`
}

func TestConversion(t *testing.T) {
	handler := handlerOf(t, hosting.Webhook{Handler: windows()})
	for name, test := range map[string]struct {
		to            string
		objects, want []string
	}{
		"spoke to hub":       {"v2", []string{v1Window}, []string{v2Window}},
		"hub to spoke":       {"v1", []string{v2Window}, []string{v1Bare}},
		"spoke to spoke":     {"v3", []string{v1Window}, []string{v3Window}},
		"and back":           {"v1", []string{v3Window}, []string{v1Bare}},
		"spoke to itself":    {"v3", []string{v3Window}, []string{v3Window}},
		"hub to itself":      {"v2", []string{v2Window}, []string{v2Window}},
		"several, in order":  {"v2", []string{v3Window, v2Window, v1Window}, []string{v2Window, v2Window, v2Window}},
		"none":               {"v2", nil, []string{}},
		"without a metadata": {"v2", []string{`{"apiVersion":"house.example.com/v1","kind":"Window","size":"2x3"}`}, []string{`{"apiVersion":"house.example.com/v2","kind":"Window","metadata":{},"width":"2","height":"3"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := conversionIn(t, post(handler, converting("house.example.com/"+test.to, test.objects...)))
			if got.Result.Status != metav1.StatusSuccess || got.UID != "u" {
				t.Errorf("answered with %+v to %q", got.Result, got.UID)
			}
			objects := []any{}
			for _, o := range got.ConvertedObjects {
				objects = append(objects, parsed(t, string(o.Raw)))
			}
			want := []any{}
			for _, o := range test.want {
				want = append(want, parsed(t, o))
			}
			hostingtest.Same(t, "conversion", want, objects)
		})
	}
}

// API servers treat a null creationTimestamp and a missing one alike.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if metadata, ok := value["metadata"].(map[string]any); ok && metadata["creationTimestamp"] == nil {
		delete(metadata, "creationTimestamp")
	}
	return value
}

func conversionIn(t *testing.T, response *httptest.ResponseRecorder) *apiextensionsv1.ConversionResponse {
	t.Helper()
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(response.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("HTTP %d with %q: %v", response.Code, response.Body, err)
	}
	if review.APIVersion != "apiextensions.k8s.io/v1" || review.Kind != "ConversionReview" {
		t.Errorf("answered with %+v", review.TypeMeta)
	}
	return review.Response
}

func TestConversionsThatFail(t *testing.T) {
	handler := handlerOf(t, hosting.Webhook{Handler: windows()})
	for name, test := range map[string]struct {
		body, message string
	}{
		"a function that cannot": {
			converting("house.example.com/v2", v2Window, strings.Replace(v1Window, "2x3", "big", 1)),
			`request.objects[1] to house.example.com/v2: size "big" is not WIDTHxHEIGHT`,
		},
		"to an unknown version":  {converting("house.example.com/v4", v1Window), `this webhook converts to`},
		"to another group":       {converting("garden.example.com/v2", v1Window), `this webhook converts to`},
		"to no version":          {converting("a/b/c", v1Window), "request.desiredAPIVersion"},
		"from an unknown one":    {converting("house.example.com/v2", strings.Replace(v1Window, "com/v1", "com/v0", 1)), "house.example.com/v0, Kind=Window"},
		"of another kind":        {converting("house.example.com/v2", strings.Replace(v1Window, `"Window"`, `"Door"`, 1)), "Kind=Door"},
		"of no object":           {converting("house.example.com/v2", `null`), "does not decode"},
		"of text":                {converting("house.example.com/v2", `"x"`), "does not decode"},
		"of other fields":        {converting("house.example.com/v2", strings.Replace(v1Window, `"2x3"`, `23`, 1)), "cannot unmarshal number"},
		"of metadata of text":    {converting("house.example.com/v1", strings.Replace(v3Window, metadata, `"metadata":"x"`, 1)), "metadata"},
		"of the hub with a list": {converting("house.example.com/v1", strings.Replace(v2Window, `"2"`, `[]`, 1)), "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			got := conversionIn(t, post(handler, test.body))
			if got.Result.Status != metav1.StatusFailure || got.UID != "u" || len(got.ConvertedObjects) > 0 {
				t.Errorf("answered with %+v", got)
			}
			if !strings.Contains(got.Result.Message, test.message) {
				t.Errorf("the message is %q, want %q", got.Result.Message, test.message)
			}
		})
	}
}

func TestMalformedConversions(t *testing.T) {
	handler := handlerOf(t, hosting.Webhook{Handler: windows()})
	good := converting("house.example.com/v2", v1Window)
	for name, test := range map[string]struct {
		body, message string
	}{
		"nothing":         {``, "does not decode"},
		"another kind":    {strings.Replace(good, "ConversionReview", "AdmissionReview", 1), `"AdmissionReview"`},
		"another version": {strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), "apiextensions.k8s.io/v1beta1"},
		"no UID":          {strings.Replace(good, `"uid":"u"`, `"uid":""`, 1), "request.uid is missing"},
		"no request":      {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, "no request"},
	} {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, post(handler, test.body), http.StatusBadRequest, test.message)
		})
	}
}
