package kube

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestProxyCountsWrites(t *testing.T) {
	proxy := newProxy(t, nil)
	client := newClient(t, proxy.Config())
	name := createConfigMap(t, client)
	List(t, client.CoreV1().ConfigMaps("default"), metav1.ListOptions{})
	must(t, client.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	want := []string{"POST /api/v1/namespaces/default/configmaps", "DELETE /api/v1/namespaces/default/configmaps/" + name}
	if diff := cmp.Diff(want, proxy.Writes()); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
}

func TestProxyCutsOffWrites(t *testing.T) {
	direct := newClient(t, cluster.Config())
	for name, tc := range map[string]struct {
		verdict   Verdict
		wantError bool
		wantThere bool
	}{
		"pass":        {Pass, false, true},
		"drop before": {DropBefore, true, false},
		"drop after":  {DropAfter, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var judged []int
			proxy := newProxy(t, func(n int, _ *http.Request) Verdict {
				judged = append(judged, n)
				if n == 2 {
					return tc.verdict
				}
				return Pass
			})
			client := newClient(t, proxy.Config())
			createConfigMap(t, client)
			second := configMap(t)
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), second, metav1.CreateOptions{})
			if (err != nil) != tc.wantError {
				t.Errorf("the client gets %v, want an error: %v", err, tc.wantError)
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("the client gets %v, want a connection that ends", err)
			}
			_, err = direct.CoreV1().ConfigMaps("default").Get(t.Context(), second.Name, metav1.GetOptions{})
			if there := err == nil; there != tc.wantThere {
				t.Errorf("the object exists: %v (%v), want %v", there, err, tc.wantThere)
			}
			if diff := cmp.Diff([]int{1, 2}, judged); diff != "" {
				t.Errorf("the writes are not each judged once (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyPassesWatchEventsAtOnce(t *testing.T) {
	proxy := newProxy(t, nil)
	watch := Watch(t, newClient(t, proxy.Config()).CoreV1().ConfigMaps("default"), metav1.ListOptions{LabelSelector: "test=watch"})
	object := configMap(t)
	object.Labels = map[string]string{"test": "watch"}
	Create(t, newClient(t, cluster.Config()).CoreV1().ConfigMaps("default"), object)
	select {
	case event := <-watch.ResultChan():
		if got := event.Object.(*corev1.ConfigMap).Name; got != object.Name {
			t.Errorf("the event has %s, want %s", got, object.Name)
		}
	case <-time.After(10 * time.Second):
		t.Error("no event comes through the proxy")
	}
}

func newProxy(t *testing.T, judge Judge) *Proxy {
	t.Helper()
	proxy, err := NewProxy(cluster.Config(), judge)
	must(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}
