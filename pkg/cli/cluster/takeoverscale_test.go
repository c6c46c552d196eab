package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An API server answers "forbidden" for a kind that it does not have, unless the user may read all kinds.
func TestUserWithoutClusterVersions(t *testing.T) {
	for name, test := range map[string]struct {
		openShift  bool
		notChecked int
	}{
		"not OpenShift": {false, 0},
		"OpenShift":     {true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !test.openShift {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(metav1.APIResourceList{GroupVersion: clusterVersions.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: clusterVersions.Resource}}})
			}))
			t.Cleanup(server.Close)
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			client.PrependReactor("get", clusterVersions.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(clusterVersions.GroupResource(), "version", nil)
			})
			c := TakeoverReader{Cluster: &Cluster{Config: &rest.Config{Host: server.URL}, Kube: fake.NewClientset(), Dynamic: client}}
			s := takeover.Snapshot{}
			by, err := c.olmScaledBy(t.Context(), &s, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "olm-operator"}})
			installtest.Must(t, err)
			installtest.Same(t, "the client that scales olm-operator", "", by)
			installtest.Same(t, "lines about what is not checked", test.notChecked, len(s.NotChecked))
		})
	}
}

// Helm sets the label app.kubernetes.io/instance, too. The managed fields show whether Argo CD applies the replicas.
func TestAppliedBy(t *testing.T) {
	instance := map[string]string{"app.kubernetes.io/instance": "olm"}
	fields := func(manager string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)}}
	}
	controller := true
	for name, test := range map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"Argo CD with its usual label": {metav1.ObjectMeta{Labels: instance, ManagedFields: fields("argocd-controller")}, "argocd-controller (metadata.managedFields)"},
		"Argo CD with its annotation":  {metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "a"}}, "Argo CD (argocd.argoproj.io/tracking-id)"},
		"Helm":                         {metav1.ObjectMeta{Labels: instance, ManagedFields: fields("helm")}, ""},
		"an owner":                     {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "a.example.com/v1", Kind: "OLM", Name: "a", Controller: &controller}}}, "the owner, OLM.a.example.com a,"},
		"no client":                    {metav1.ObjectMeta{}, ""},
	} {
		installtest.Same(t, name, test.want, appliedBy(&appsv1.Deployment{ObjectMeta: test.meta}))
	}
}
