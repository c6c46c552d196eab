package gather

import (
	"errors"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An error that says nothing about the PriorityClass is returned: a refused annotation would roll out pods.
func TestWhyUnusable(t *testing.T) {
	outage := errors.New("connection refused")
	for name, test := range map[string]struct {
		class string
		err   error
		want  string
		fails error
	}{
		"no name":           {},
		"it exists":         {class: "high"},
		"it does not exist": {class: "low", want: "PriorityClass low does not exist: create it, or correct the name"},
		"no permission": {
			class: "high", err: apierrors.NewForbidden(schema.GroupResource{Resource: "priorityclasses"}, "high", nil),
			want: "the manager must not read PriorityClass high: grant it get of priorityclasses, as manifests/manager/clusterrole.yaml does",
		},
		"an outage": {class: "high", err: outage, fails: outage},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}})
			if test.err != nil {
				client.PrependReactor("get", "priorityclasses", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			}
			got, err := whyUnusable(t.Context(), client, test.class)
			installtest.Same(t, "the reason", test.want, got)
			if !errors.Is(err, test.fails) {
				t.Errorf("error %v, expected %v", err, test.fails)
			}
		})
	}
}
