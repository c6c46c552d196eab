package apiserver

import (
	"slices"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/version"
)

var everything = labels.Everything()

func isEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established)
}

// groups returns the groups of custom resources for discovery, sorted.
func (d *definitions) groups() []metav1.APIGroup {
	versions := map[string][]string{}
	for _, definition := range d.served() {
		for _, v := range definition.Spec.Versions {
			if group := definition.Spec.Group; v.Served && !slices.Contains(versions[group], v.Name) {
				versions[group] = append(versions[group], v.Name)
			}
		}
	}
	groups := []metav1.APIGroup{}
	for group, names := range versions {
		sort.Slice(names, func(i, j int) bool { return version.CompareKubeAwareVersionStrings(names[i], names[j]) > 0 })
		groups = append(groups, groupOf(group, names...))
	}
	sort.Slice(groups, func(i, j int) bool { return groups[i].Name < groups[j].Name })
	return groups
}

// resources returns the custom resources of a group and version for discovery.
func (d *definitions) resources(group, version string) []metav1.APIResource {
	var resources []metav1.APIResource
	for _, definition := range d.served() {
		for _, v := range definition.Spec.Versions {
			if definition.Spec.Group == group && v.Name == version && v.Served {
				resources = append(resources, resourcesOf(definition, v)...)
			}
		}
	}
	return resources
}

func resourcesOf(definition *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion) []metav1.APIResource {
	names := definition.Status.AcceptedNames
	namespaced := definition.Spec.Scope == apiextensionsv1.NamespaceScoped
	resources := []metav1.APIResource{{
		Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, ShortNames: names.ShortNames, Categories: names.Categories,
		Verbs: metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
	}}
	if v.Subresources != nil && v.Subresources.Status != nil {
		resources = append(resources, metav1.APIResource{
			Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind, Verbs: metav1.Verbs{"get", "patch", "update"},
		})
	}
	return resources
}
