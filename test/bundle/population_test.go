package bundle

import (
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

// A client that deletes a definition deletes its objects in every namespace, independent of who installed the operator there.
func TestObjectsThatGoWithADefinition(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "gauges", map[string]string{"v1": schemas["anything"]}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	})
	for namespace, count := range map[string]int{"gauges-few": 1, "gauges-many": 3} {
		e.namespace(t, namespace)
		for i := range count {
			must(t, e.create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": crd.Spec.Group + "/v1", "kind": crd.Spec.Names.Kind,
				"metadata": map[string]any{"namespace": namespace, "name": fmt.Sprintf("gauge-%d", i)}, "spec": map[string]any{"size": int64(7)},
			}}, false))
		}
	}
	c := newInstaller(t)
	manifests := manifestsOf(t, crd)
	removal := removalOf(t, c, installer.Installation{Bundle: bundleWith(t, crd), Manifests: manifests, Adopted: []string{deploy.Reference(manifests[0])}}, true)
	if want := fmt.Sprintf("CustomResourceDefinition %s is deleted, with 4 objects in namespaces: 3 in gauges-many, 1 in gauges-few", crd.Name); !slices.Contains(removal.Messages, want) {
		t.Errorf("a removal reports %q, want %q", removal.Messages, want)
	}
}
