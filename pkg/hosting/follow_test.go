package hosting

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func TestFollow(t *testing.T) {
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
	client := fake.NewSimpleDynamicClient(scheme.Scheme, a)
	happened := make(chan string, 10)
	lister, err := Follow(t.Context(), client, configMaps, Followed{
		Seen: func(object *unstructured.Unstructured) { happened <- "seen " + object.GetName() },
		Gone: func(name cache.ObjectName) { happened <- "gone " + name.String() },
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-happened:
		if got != "seen a" {
			t.Errorf("first %s", got)
		}
	default:
		t.Error("Follow returned before it had handed over what there was")
	}
	if _, err := lister.ByNamespace("n").Get("a"); err != nil {
		t.Error(err)
	}
	// Of what is deleted between list and watch the fake, unlike an API server, says nothing.
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", "configmaps") }), nil
	})
	if err != nil {
		t.Fatal("it is not followed: there is no watch")
	}
	if err := client.Resource(configMaps).Namespace("n").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-happened; got != "gone n/a" {
		t.Errorf("then %s", got)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	client := fake.NewSimpleDynamicClient(scheme.Scheme)
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, errors.New("the API server is not there")
	})
	_, err := Follow(ctx, client, configMaps, Followed{Seen: func(*unstructured.Unstructured) {}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWorklist(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	tests := map[string]struct {
		answers []error
	}{
		"done at once":       {[]error{nil}},
		"gone meanwhile":     {[]error{apierrors.NewNotFound(resource, "a")}},
		"written by another": {[]error{apierrors.NewConflict(resource, "a", nil), nil}},
		"fails for a while":  {[]error{errors.New("first"), errors.New("second"), nil}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var looked []string
			var list *Worklist
			list = NewWorklist("Looking at", func(_ context.Context, name cache.ObjectName) error {
				looked = append(looked, name.Name)
				if name.Name == "last" {
					cancel()
					return nil
				}
				answer := test.answers[len(looked)-1]
				if len(looked) == len(test.answers) {
					list.Add(cache.ObjectName{Name: "last"})
				}
				return answer
			})
			list.Add(cache.ObjectName{Name: "a"})
			list.Add(cache.ObjectName{Name: "a"})
			list.Run(ctx)

			var want []string
			for range test.answers {
				want = append(want, "a")
			}
			if diff := cmp.Diff(append(want, "last"), looked); diff != "" {
				t.Errorf("looked at (-want +got):\n%s", diff)
			}
		})
	}
}
