package clusterrole

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// OfDefinition returns the ClusterRoles for the users of one version of a definition.
func OfDefinition(crd *apiextensionsv1.CustomResourceDefinition, version string) []*rbacv1.ClusterRole {
	owner := metav1.OwnerReference{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: groupkind.CustomResourceDefinition.Kind, Name: crd.Name, UID: crd.UID,
	}
	api := crd.Spec.Names.Kind + "." + version + "." + crd.Spec.Group
	prefix := crd.Name + "-" + version + "-"
	roles := lists.Map(levels, func(level Level) *rbacv1.ClusterRole {
		return ofAPI(prefix+string(level), level, api, owner, rule(crd.Spec.Group, crd.Spec.Names.Plural, level.verbs()...))
	})
	definition := rule(apiextensionsv1.GroupName, "customresourcedefinitions", "get")
	definition.ResourceNames = []string{crd.Name}
	return append(roles, ofAPI(prefix+"crd"+string(View), View, api, owner, definition))
}

// OfAPIService returns the ClusterRoles for the users of one resource of an APIService. The names do not contain the
// group, as with OLM v0. There are none for a resource that no name of a ClusterRole can contain, nor for all of them.
func OfAPIService(service *apiregistrationv1.APIService, resource, kind string) []*rbacv1.ClusterRole {
	if len(content.IsPathSegmentName(resource)) > 0 || resource == "" || resource == rbacv1.ResourceAll {
		return nil
	}
	owner := metav1.OwnerReference{
		APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: apiService.Kind, Name: service.Name, UID: service.UID,
	}
	api := kind + "." + service.Spec.Version + "." + service.Spec.Group
	return lists.Map(levels, func(level Level) *rbacv1.ClusterRole {
		return ofAPI(resource+"-"+service.Spec.Version+"-"+string(level), level, api, owner, rule(service.Spec.Group, resource, level.verbs()...))
	})
}

func ofAPI(name string, level Level, api string, owner metav1.OwnerReference, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	owner.Controller, owner.BlockOwnerDeletion = new(false), new(false)
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Labels:          map[string]string{level.builtIn(): "true", level.forGroups(api): "true", wellknown.LabelManaged: "true"},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Rules: rules,
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// APIOwners returns the definitions and the APIServices that own a ClusterRole.
func APIOwners(role *rbacv1.ClusterRole) (definitions, services []string) {
	for _, owner := range role.OwnerReferences {
		switch groupkind.OfOwner(owner) {
		case groupkind.CustomResourceDefinition, definitionOfOLM:
			definitions = append(definitions, owner.Name)
		case apiService:
			services = append(services, owner.Name)
		}
	}
	return definitions, services
}

// OLM v0 writes the kind of a definition in lower case. The garbage collector of Kubernetes knows both spellings.
var (
	definitionOfOLM = schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "customresourcedefinition"}
	apiService      = schema.GroupKind{Group: apiregistrationv1.GroupName, Kind: "APIService"}
)
