package kube

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func TestInstallCRDs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crds.yaml")
	must(t, os.WriteFile(file, []byte("---\n"+crdOf("gauges")+"---\n"+crdOf("valves")), 0o644))
	t.Cleanup(func() { deleteCRDs(t, "gauges", "valves") })
	for range 2 { // the second finds them there
		must(t, cluster.InstallCRDs(t.Context(), file))
	}
	client, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	for _, resource := range []string{"gauges", "valves"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kube.example.com/v1", "kind": strings.ToUpper(resource), "metadata": map[string]any{"generateName": "x-"},
		}}
		gvr := schema.GroupVersionResource{Group: "kube.example.com", Version: "v1", Resource: resource}
		if _, err := client.Resource(gvr).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("create one of the %s: %v", resource, err)
		}
	}
}

func TestInstallCRDsRefusesOtherKinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.yaml")
	must(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"), 0o644))
	err := cluster.InstallCRDs(t.Context(), file)
	if err == nil || !strings.Contains(err.Error(), "other.yaml: apply ConfigMap x: it is no CustomResourceDefinition") {
		t.Errorf("InstallCRDs = %v, want one that names the file, the object and the fault", err)
	}
}

func deleteCRDs(t *testing.T, plurals ...string) {
	t.Helper()
	client, err := apiextensions.NewForConfig(cluster.Config())
	must(t, err)
	for _, plural := range plurals {
		name := plural + ".kube.example.com"
		if err := client.ApiextensionsV1().CustomResourceDefinitions().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func crdOf(plural string) string {
	return strings.NewReplacer("PLURAL", plural, "KIND", strings.ToUpper(plural)).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.kube.example.com
spec:
  group: kube.example.com
  names: {plural: PLURAL, kind: KIND}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`)
}
