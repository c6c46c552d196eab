package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A client that finalizes an object and reads it again only when it changes is made to read it.
func TestAwaitRemoval(t *testing.T) {
	t.Parallel()
	client := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default")
	object := configMap(t)
	object.Finalizers = []string{"example.com/forgetful"}
	created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	must(t, err)
	must(t, client.Delete(t.Context(), object.Name, metav1.DeleteOptions{}))
	changes, err := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", object.Name).String(), ResourceVersion: created.ResourceVersion})
	must(t, err)
	defer changes.Stop()
	go func() {
		<-changes.ResultChan() // the deletion, which it forgets
		<-changes.ResultChan()
		if _, err := client.Patch(t.Context(), object.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}()
	resources, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	if err := AwaitRemoval(t.Context(), resources.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default"), object.Name); err != nil {
		t.Error(err)
	}
}
