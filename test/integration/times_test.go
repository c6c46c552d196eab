package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// small is a time that the API server accepts, and Go types do not.
const small = "2026-01-01t00:00:00z"

// The API server accepts times that the Go types of its objects do not: the format date-time of a definition permits small letters.
// Such a time in an object of a tenant, or a pod template with labels of the wrong type, does not stop the manager.
func TestTimesThatCannotBeDecoded(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, nil)
	m := e.manage()
	e.install(csv("operator.v1", "server"))
	m.stop()
	for _, one := range []struct {
		of          schema.GroupVersionResource
		name, patch string
		status      []string
	}{
		{managerv1alpha1.SchemeGroupVersion.WithResource("webhookrollouts"), "operator.v1", `{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Any", "message": "", "lastTransitionTime": "` + small + `"}]}}`, []string{"status"}},
		{operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions"), "operator.v1", `{"status": {"lastUpdateTime": "` + small + `"}}`, []string{"status"}},
		{operatorsv1alpha1.SchemeGroupVersion.WithResource("subscriptions"), "operator", `{"status": {"lastUpdated": "` + small + `"}}`, []string{"status"}},
		{operatorsv1.SchemeGroupVersion.WithResource("operatorgroups"), "og", `{"status": {"lastUpdated": "` + small + `"}}`, []string{"status"}},
	} {
		_, err := e.any.Resource(one.of).Namespace(e.namespace).Patch(e.ctx, one.name, types.MergePatchType, []byte(one.patch), metav1.PatchOptions{}, one.status...)
		if err != nil {
			t.Errorf("%s: %v", one.of.Resource, err)
		}
	}
	odd := csv("odd.v1", "odd")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(odd)
	e.must(err)
	template := content["spec"].(map[string]any)["install"].(map[string]any)["spec"].(map[string]any)["deployments"].([]any)[0].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)
	template["metadata"].(map[string]any)["creationTimestamp"] = "yesterday"
	template["metadata"].(map[string]any)["annotations"] = []any{"none"}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.ClusterServiceVersionKind))
	_, err = e.any.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")).Namespace(e.namespace).Create(e.ctx, object, metav1.CreateOptions{})
	e.must(err)
	e.manage()
	e.install(csv("second.v1", "second"))
}

// A tenant writes such a time into the OperatorCondition, which the operator may write, while its webhook is open: it closes all the same.
func TestFailOpenWithATimeThatCannotBeDecoded(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s", "fail-open-for": "2m"})
	b.goes()
	b.is(partly)
	patch := `{"spec": {"conditions": [{"type": "Upgradeable", "status": "True", "reason": "Any", "message": "", "lastTransitionTime": "` + small + `"}]}}`
	_, err := b.any.Resource(operatorsv2.GroupVersion.WithResource("operatorconditions")).Namespace(b.namespace).Patch(b.ctx, "operator.v1", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	b.must(err)
	b.is(closed)
	same(t, "closed by", b.opening(0).ClosedBy, managerv1alpha1.ClosedTimeOver)
}
