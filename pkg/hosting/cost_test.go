package hosting

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
)

func podReviewOf(spec, metadata string) string {
	return strings.Replace(podReview, `"metadata":{"name":"p"}`, `"metadata":{"name":"p"`+metadata+`},"spec":{`+spec+`}`, 1)
}

func dense(element string, bytes int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", bytes/(len(element)+1)), ",")
}

func TestCostOfDenseObjects(t *testing.T) {
	const bytes = 1 << 19
	for name, c := range map[string]struct {
		handler Handler
		spec    string
	}{
		"containers":           {Validating(admitPod), `"containers":[` + dense("{}", bytes) + "]"},
		"containers changed":   {Mutating(labelled[*corev1.Pod]), `"containers":[` + dense("{}", bytes) + "]"},
		"strings":              {Validating(admitPod), `"containers":[{"args":[` + dense(`""`, bytes) + "]}]"},
		"map of strings":       {Validating(admitPod), `"nodeSelector":{` + fields(bytes, `""`) + "}"},
		"map changed":          {Mutating(labelled[*corev1.Pod]), `"nodeSelector":{` + fields(bytes, `""`) + "}"},
		"map of quantities":    {Validating(admitPod), `"overhead":{` + fields(bytes, `"1"`) + "}"},
		"untyped map":          {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":{` + fields(bytes, "1") + "}"},
		"untyped map changed":  {Mutating(labelled[*unstructured.Unstructured]), `"x":{` + fields(bytes, "1") + "}"},
		"untyped maps changed": {Mutating(labelled[*unstructured.Unstructured]), `"x":[` + dense(`{"a":1}`, bytes) + "]"},
		"untyped":              {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense("{}", bytes) + "]"},
		"untyped fields":       {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense(`{"a":1}`, bytes) + "]"},
		"untyped numbers":      {Validating(func(context.Context, Request[*unstructured.Unstructured]) error { return nil }), `"x":[` + dense("1", bytes) + "]"},
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

type labelledObject interface {
	kruntime.Object
	SetLabels(map[string]string)
}

func labelled[T labelledObject](_ context.Context, r Request[T]) error {
	r.Object.SetLabels(map[string]string{"a": "b"})
	return nil
}

// fields returns fields with different names and the same value, of that many bytes in all.
func fields(bytes int, value string) string {
	var text strings.Builder
	for i := 0; text.Len() < bytes; i++ {
		fmt.Fprintf(&text, `"%x":%s,`, i, value)
	}
	return strings.TrimSuffix(text.String(), ",")
}

// heapOf returns the maximum growth of the heap during f. It collects often, to not depend on the machine's load.
func heapOf(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before := live()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	most := before
	for {
		most = max(most, live())
		select {
		case <-done:
			return most - before
		case <-time.After(time.Millisecond):
		}
	}
}

// live returns the bytes that the last collection left.
func live() int64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

func TestMemoryOfDenseObjectsIsBounded(t *testing.T) {
	l := limits.NewCalls()
	c := &counting{proceed: make(chan struct{})}
	server := serveOverTLS(t, c.handler(), l, 100)
	hostingtest.Same(t, "the status for 350,000 containers", http.StatusRequestEntityTooLarge, postTo(t, server, "30s", podReviewOf(`"containers":[`+dense("{}", 1<<20)+"]", "")).StatusCode)
	body := podReviewOf(`"containers":[`+dense("{}", 60<<10)+"]", "")
	const many = 40
	var calls sync.WaitGroup
	statuses := make(chan int, many)
	for range many {
		calls.Go(func() { statuses <- postTo(t, server, "30s", body).StatusCode })
	}
	hostingtest.Eventually(t, "the calls that fit are handled and the others refused", func() bool { return c.running.Load()+int64(len(statuses)) == many })
	if held := l.DecodedMemory(); held > limits.DecodedFactor*limits.DefaultMaxBodyMemory || c.running.Load() < 2 {
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
	hostingtest.Same(t, "the status for a small body", http.StatusOK, postTo(t, server, "30s", podReview).StatusCode)
	hostingtest.Eventually(t, "the memory is given back", func() bool { return l.DecodedMemory() == 0 })
}
