package hosting

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podReviewOf is a review of a Pod with some more fields in its spec and metadata.
func podReviewOf(spec, metadata string) string {
	return strings.Replace(podReview, `"metadata":{"name":"p"}`, `"metadata":{"name":"p"`+metadata+`},"spec":{`+spec+`}`, 1)
}

func dense(element string, bytes int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", bytes/(len(element)+1)), ",")
}

func TestShape(t *testing.T) {
	managed := `,"managedFields":[{"fieldsV1":{"f:a":{"f:b":{},"f:c":[]}},"manager":"m"},{"fieldsV1":"x","manager":"n"}]`
	for name, c := range map[string]struct {
		text string
		raw  bool
		want shape
	}{
		"a review":                            {podReview, true, shape{5, 9}},
		"brackets in strings":                 {podReviewOf(`"nodeName":"{[,\"{{"`, ""), true, shape{6, 10}},
		"managed fields, which are raw":       {podReviewOf("", managed), true, shape{8, 15}},
		"managed fields, which are decoded":   {podReviewOf("", managed), false, shape{11, 17}},
		"a field of that name in another one": {podReviewOf(`"managedFields":[{"x":{"fieldsV1":{"a":{}}}}]`, ""), true, shape{10, 11}},
		"what is no JSON":                     {`}}],"`, true, shape{0, 1}},
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

// What is counted for objects is at least what they take, however dense they are.
func TestCostOfDenseObjects(t *testing.T) {
	const bytes = 1 << 20
	for name, c := range map[string]struct {
		handler Handler
		spec    string
	}{
		"containers": {Validating(admitPod), `"containers":[` + dense("{}", bytes) + "]"},
		"containers changed": {Mutating(func(_ context.Context, r Request[*corev1.Pod]) error {
			r.Object.Labels = map[string]string{"a": "b"}
			return nil
		}), `"containers":[` + dense("{}", bytes) + "]"},
		"strings":         {Validating(admitPod), `"containers":[{"args":[` + dense(`""`, bytes) + "]}]"},
		"untyped":         {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense("{}", bytes) + "]"},
		"untyped fields":  {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense(`{"a":1}`, bytes) + "]"},
		"untyped numbers": {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense("1", bytes) + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(podReviewOf(c.spec, ""))
			w := Webhook{Kinds: []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}, Handler: c.handler}.withDefaults("pods")
			counted := c.handler.cost(body)
			if took := heapOf(func() {
				if _, _, err := c.handler.answer(t.Context(), w, body); err != nil {
					t.Error(err)
				}
			}); took > counted {
				t.Errorf("%d bytes are counted, and %d are taken", counted, took)
			}
		})
	}
}

// heapOf is by how much a function's heap grew at most, as far as it can be seen, if garbage is collected as
// it is by default: the environment of the tests may put that off.
func heapOf(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	var most uint64
	for {
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
		select {
		case <-done:
			return int64(most) - int64(before.HeapAlloc)
		case <-time.After(time.Millisecond):
		}
	}
}

// The objects of all calls together are bounded, and a body whose objects are too many is refused. Small ones are
// answered nevertheless.
func TestMemoryOfDenseObjectsIsBounded(t *testing.T) {
	l := newLoad()
	c := &counting{proceed: make(chan struct{})}
	server := serveOverTLS(t, c.handler(), l, 100)
	if huge := postTo(t, server, "30s", podReviewOf(`"containers":[`+dense("{}", 1<<20)+"]", "")); huge.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("350,000 containers are answered with HTTP %d", huge.StatusCode)
	}
	body := podReviewOf(`"containers":[`+dense("{}", 60<<10)+"]", "")
	const many = 40
	var calls sync.WaitGroup
	statuses := make(chan int, many)
	for range many {
		calls.Go(func() { statuses <- postTo(t, server, "30s", body).StatusCode })
	}
	eventually(t, "those that fit are handled and the others refused", func() bool { return c.running.Load()+int64(len(statuses)) == many })
	if held := l.decodedMemory.Load(); held > decodedFactor*defaultMaxBodyMemory || c.running.Load() < 2 {
		t.Errorf("%d calls hold %d bytes of objects", c.running.Load(), held)
	}
	close(c.proceed)
	calls.Wait()
	close(statuses)
	found := map[int]int{}
	for status := range statuses {
		found[status]++
	}
	if found[http.StatusOK]+found[http.StatusTooManyRequests] != many || found[http.StatusTooManyRequests] == 0 {
		t.Errorf("the calls are answered with %s", fmt.Sprint(found))
	}
	if small := postTo(t, server, "30s", podReview); small.StatusCode != http.StatusOK {
		t.Errorf("a small body is answered with HTTP %d", small.StatusCode)
	}
	eventually(t, "the memory is given back", func() bool { return l.decodedMemory.Load() == 0 })
}
