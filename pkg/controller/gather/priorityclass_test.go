package gather

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
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
			got, _, err := whyUnusable(t.Context(), client, test.class)
			installtest.Same(t, "the reason", test.want, got)
			if !errors.Is(err, test.fails) {
				t.Errorf("error %v, expected %v", err, test.fails)
			}
		})
	}
}

// Pods keep a PriorityClass that the manager must not read for a moment. They lose one that does not exist.
func TestPodsKeepAPriorityClass(t *testing.T) {
	resource := schema.GroupResource{Resource: "priorityclasses"}
	for name, test := range map[string]struct {
		err  error
		live string
		want string
	}{
		"it exists":                      {nil, "high", "high"},
		"it does not exist":              {apierrors.NewNotFound(resource, "high"), "high", ""},
		"no permission":                  {apierrors.NewForbidden(resource, "high", nil), "high", "high"},
		"no permission, and no class":    {apierrors.NewForbidden(resource, "high", nil), "", ""},
		"no permission, and another one": {apierrors.NewForbidden(resource, "high", nil), "low", ""},
	} {
		client := fake.NewClientset(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}})
		client.PrependReactor("get", "priorityclasses", func(clienttesting.Action) (bool, runtime.Object, error) { return test.err != nil, nil, test.err })
		csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))
		csv.Annotations = map[string]string{wellknown.AnnotationAvailabilityPriorityClass: "high"}
		live := &appsv1.Deployment{}
		live.Spec.Template.Spec.PriorityClassName = test.live
		facts := &decide.Facts{CSV: csv, Observed: rollout.Observed{Deployments: map[string]*appsv1.Deployment{"manager": live}}}
		installtest.Must(t, addPriorityClass(t.Context(), client, facts))
		installtest.Same(t, name+": the class", test.want, facts.Config.Availability(csv, csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]).PriorityClass)
		installtest.Same(t, name+": refused", test.err != nil, facts.Config.UnusablePriorityClass != "")
	}
}
