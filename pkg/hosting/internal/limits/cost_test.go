package limits

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func review(spec, metadata string) string {
	const format = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
		`"kind":{"group":"","version":"v1","kind":"Pod"},"operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"%s}%s}}}`
	if spec+metadata == "" {
		return fmt.Sprintf(format, "", "")
	}
	return fmt.Sprintf(format, metadata, `,"spec":{`+spec+"}")
}

func TestShape(t *testing.T) {
	managed := `,"managedFields":[{"fieldsV1":{"f:a":{"f:b":{},"f:c":[]}},"manager":"m"},{"fieldsV1":"x","manager":"n"}]`
	for name, c := range map[string]struct {
		text string
		raw  bool
		want shape
	}{
		"a review":                            {review("", ""), true, shape{5, 14, 9}},
		"brackets in strings":                 {review(`"nodeName":"{[,\"{{"`, ""), true, shape{6, 16, 10}},
		"managed fields, which are raw":       {review("", managed), true, shape{8, 18, 15}},
		"managed fields, which are decoded":   {review("", managed), false, shape{11, 23, 17}},
		"a field of that name in another one": {review(`"managedFields":[{"x":{"fieldsV1":{"a":{}}}}]`, ""), true, shape{10, 19, 11}},
		"what is no JSON":                     {`}}],"`, true, shape{0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scan{text: []byte(c.text), raw: c.raw, objectDepth: 3}
			s.run()
			if s.all != c.want {
				t.Errorf("%s has %+v, want %+v", c.text, s.all, c.want)
			}
		})
	}
}

func TestLargestElement(t *testing.T) {
	if got, want := largestElement(reflect.TypeFor[*corev1.Pod]()), int64(reflect.TypeFor[corev1.Container]().Size()); got < want {
		t.Errorf("the largest element of a Pod has %d bytes, and a container has %d", got, want)
	}
	if got := largestElement(reflect.TypeFor[*apiextensionsv1.CustomResourceDefinition]()); got < 500 {
		t.Errorf("the schemas of a definition, which contain themselves, have %d bytes", got)
	}
}

func TestRequestsBeforeACallAreBounded(t *testing.T) {
	l := NewCalls()
	l.MaxRequests = 1
	asked, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(l.LimitCallers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	})))
	defer server.Close()
	post := func() int {
		response, err := http.Post(server.URL, "application/json", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	first := make(chan int)
	go func() { first <- post() }()
	<-asked
	hostingtest.Same(t, "the status of the second call", http.StatusTooManyRequests, post())
	answer <- struct{}{}
	hostingtest.Same(t, "the status of the first call", http.StatusOK, <-first)
	server.Close() // waits for the handlers
	hostingtest.Same(t, "the number of requests that are still counted", int64(0), l.callers.Load())
}
