package integration

import (
	"context"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// huge is a quantity that Kubernetes' library decodes for hours. OLM's definitions allow it.
const huge = "1.00000000000000000000000000000001e1000000000"

// A quantity that takes hours to decode, in a ClusterServiceVersion or a Subscription of a tenant, stops
// neither the manager nor the tenant's neighbours, and is refused like any other that is not possible.
func TestQuantityThatTakesHoursToDecode(t *testing.T) {
	e := newOwnNamespaceEnv(t)

	before := csv("before.v1", "before")
	createHuge(e, operatorsv1alpha1.ClusterServiceVersionKind, before, "spec", "install", "spec", "deployments", "0", "spec", "template", "spec", "containers", "0", "resources", "limits", "memory")
	configured := csv("configured.v1", "configured")
	createHuge(e, operatorsv1alpha1.SubscriptionKind, &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: "configured"},
		Spec:       &operatorsv1alpha1.SubscriptionSpec{Package: "configured", StartingCSV: "configured.v1"},
	}, "spec", "config", "resources", "limits", "memory")
	e.create(configured)

	e.manage() // It lists both.
	e.install(csv("operator.v1", "server"))
	after := csv("after.v1", "after") // It is watched.
	createHuge(e, operatorsv1alpha1.ClusterServiceVersionKind, after, "spec", "install", "spec", "deployments", "0", "spec", "template", "spec", "containers", "0", "resources", "limits", "memory")
	for _, name := range []string{"before.v1", "configured.v1", "after.v1"} {
		e.reachesSaying(name, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentFailed, "spec.template.spec.containers[0].resources.limits[memory]")
	}
}

// createHuge creates an object with the quantity at a path. It is deleted after the test.
func createHuge(e *env, kind string, o runtime.Object, path ...string) {
	e.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	e.must(err)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(operatorsv1alpha1.SchemeGroupVersion.WithKind(kind))
	object.SetNamespace(e.namespace)
	setQuantity(object.Object, path)
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	client := e.any.Resource(resource).Namespace(e.namespace)
	_, err = client.Create(e.ctx, object, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { e.must(client.Delete(context.WithoutCancel(e.ctx), object.GetName(), metav1.DeleteOptions{})) })
}

func setQuantity(at any, path []string) {
	switch at := at.(type) {
	case []any:
		setQuantity(at[0], path[1:])
	case map[string]any:
		if len(path) == 1 {
			at[path[0]] = huge
			return
		}
		if at[path[0]] == nil {
			at[path[0]] = map[string]any{}
		}
		setQuantity(at[path[0]], path[1:])
	}
}
