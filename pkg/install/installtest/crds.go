package installtest

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// Definition returns an established CRD that serves v1 and no longer serves v1alpha1.
func Definition(name string, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1"}, {Name: "v1", Served: true, Storage: true}}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	for _, change := range changes {
		change(crd)
	}
	return crd
}

// SomeCatalog has resources of Kubernetes and of a CRD, and a version of unknown resources.
func SomeCatalog() rules.Catalog {
	c := rules.Catalog{Closed: true, Names: []string{"batch", "policy"}}
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	c.Add(core, []rules.Resource{
		{Name: "pods", Kind: core.WithKind("Pod"), Extent: rules.Namespaced}, {Name: "pods/status", Kind: core.WithKind("Pod"), Extent: rules.Namespaced},
		{Name: "pods/binding", Kind: core.WithKind("Binding"), Extent: rules.Namespaced}, {Name: "namespaces", Kind: core.WithKind("Namespace"), Extent: rules.ClusterScoped},
	})
	c.Add(apps, []rules.Resource{{Name: "deployments", Kind: apps.WithKind("Deployment"), Extent: rules.Namespaced}})
	c.Add(schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1"}, nil)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Scope = "shop.example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "orders", Kind: "Order"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}},
		{Name: "v1alpha1"},
	}
	c.AddDefinition(crd)
	return c
}
