package hosting

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func TestWatch(t *testing.T) {
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	client := fake.NewSimpleDynamicClient(scheme.Scheme, a)
	events := make(chan string, 10)
	lister, err := Watch(t.Context(), client, configMaps, ResourceHandler{
		Updated: func(object *unstructured.Unstructured) { events <- "updated " + object.GetName() },
		Deleted: func(name cache.ObjectName) { events <- "deleted " + name.String() },
	})
	hostingtest.Must(t, err)
	select {
	case got := <-events:
		hostingtest.Same(t, "the first event", "updated a", got)
	default:
		t.Error("Watch returned before Updated was called with the existing object")
	}
	if _, err := lister.ByNamespace("n").Get("a"); err != nil {
		t.Error(err)
	}
	// Unlike an API server, the fake does not report an object that is deleted between list and watch.
	hostingtest.Eventually(t, "there is a watch", func() bool {
		return slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", "configmaps") })
	})
	hostingtest.Must(t, client.Resource(configMaps).Namespace("n").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	hostingtest.Same(t, "the next event", "deleted n/a", <-events)
}

func TestWatchEndsWithItsContext(t *testing.T) {
	client := fake.NewSimpleDynamicClient(scheme.Scheme)
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, errors.New("the API server is not available")
	})
	_, err := Watch(ctx, client, configMaps, ResourceHandler{Updated: func(*unstructured.Unstructured) {}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWorklist(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for name, answers := range map[string][]error{
		"done at once":              {nil},
		"deleted meanwhile":         {apierrors.NewNotFound(resource, "a")},
		"written by another client": {apierrors.NewConflict(resource, "a", nil), nil},
		"fails for a while":         {errors.New("first"), errors.New("second"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var reconciled []string
			var list *Worklist
			list = NewWorklist("reconcile", func(_ context.Context, name cache.ObjectName) error {
				reconciled = append(reconciled, name.Name)
				if name.Name == "last" {
					cancel()
					return nil
				}
				if len(reconciled) == len(answers) {
					list.Add(cache.ObjectName{Name: "last"})
				}
				return answers[len(reconciled)-1]
			})
			list.Add(cache.ObjectName{Name: "a"})
			list.Add(cache.ObjectName{Name: "a"})
			list.Run(ctx)

			hostingtest.Same(t, "reconciled", append(slices.Repeat([]string{"a"}, len(answers)), "last"), reconciled)
		})
	}
}
