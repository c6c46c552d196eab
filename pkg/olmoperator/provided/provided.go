// Package provided reads from the caches which APIs a ClusterServiceVersion provides.
package provided

import (
	"fmt"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provider"
)

// APIs reads the APIs of ClusterServiceVersions.
type APIs struct {
	Caches *informers.Caches
}

// Definition is a version of a CustomResourceDefinition that a ClusterServiceVersion owns.
type Definition struct {
	*apiextensionsv1.CustomResourceDefinition
	Version string
	// Refused is why the ClusterServiceVersion does not provide it; empty if it does.
	Refused string
}

// Definitions returns the owned versions that the API server serves.
func (a APIs) Definitions(csv *operatorsv1alpha1.ClusterServiceVersion) []Definition {
	everywhere := sync.OnceValue(func() map[string][]rbacv1.PolicyRule { return gather.AccessOf(a.Caches, csv, nil, nil).Everywhere })
	var all []Definition
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		crd := a.Caches.CRDs.Get("", owned.Name)
		if crd == nil || !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || !apihelpers.HasServedCRDVersion(crd, owned.Version) {
			continue
		}
		all = append(all, Definition{CustomResourceDefinition: crd, Version: owned.Version, Refused: a.definitionRefusal(csv, crd, everywhere)})
	}
	return all
}

func (a APIs) definitionRefusal(csv *operatorsv1alpha1.ClusterServiceVersion, crd *apiextensionsv1.CustomResourceDefinition, everywhere func() map[string][]rbacv1.PolicyRule) string {
	if message := a.reserved(crd.Spec.Group); message != "" {
		return fmt.Sprintf("CustomResourceDefinition %s: %s", crd.Name, message)
	}
	if provider.Provides(csv, crd, everywhere) {
		return ""
	}
	return fmt.Sprintf("CustomResourceDefinition %s: no catalog and no bundle install created it for this ClusterServiceVersion, "+
		"and none of its ServiceAccounts may list, watch and change its objects in all namespaces", crd.Name)
}

func (a APIs) reserved(group string) string {
	message, _ := requirements.ReservedGroup(group, a.Caches.APIServices.By(informers.ByGroup, group))
	return message
}

// APIService is a resource of an APIService that a ClusterServiceVersion owns.
type APIService struct {
	*apiregistrationv1.APIService
	Resource, Kind string
	// Refused is why the ClusterServiceVersion does not provide it; empty if it does.
	Refused string
}

// APIServices returns the owned resources of registered APIServices.
func (a APIs) APIServices(csv *operatorsv1alpha1.ClusterServiceVersion) []APIService {
	var all []APIService
	for _, owned := range csv.Spec.APIServiceDefinitions.Owned {
		if service := a.Caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version)); service != nil {
			all = append(all, APIService{APIService: service, Resource: owned.Name, Kind: owned.Kind, Refused: a.apiServiceRefusal(csv, service, owned.Name)})
		}
	}
	return all
}

func (a APIs) apiServiceRefusal(csv *operatorsv1alpha1.ClusterServiceVersion, service *apiregistrationv1.APIService, resource string) string {
	definition := resource + "." + service.Spec.Group
	switch message := a.reserved(service.Spec.Group); {
	case message != "":
		return fmt.Sprintf("APIService %s: %s", service.Name, message)
	case !csvspec.HasOwnerLabels(service, csv) || !a.Ownership(csv).Proves(service):
		return fmt.Sprintf("APIService %s: it sends requests to a server that does not belong to this ClusterServiceVersion", service.Name)
	case a.Caches.CRDs.Get("", definition) != nil && !slices.Contains(csvspec.OwnedCRDs(csv), definition):
		return fmt.Sprintf("APIService %s: its resource %s belongs to CustomResourceDefinition %s", service.Name, resource, definition)
	default:
		return ""
	}
}

// Ownership returns the proof of what a ClusterServiceVersion owns, without what an InstallPlan created.
func (a APIs) Ownership(csv *operatorsv1alpha1.ClusterServiceVersion) owners.Ownership {
	var rollouts []*managerv1alpha1.WebhookRollout
	if rollout := a.Caches.Rollouts.Get(csv.Namespace, csv.Name); rollout != nil {
		rollouts = append(rollouts, rollout)
	}
	return owners.NewOwnership([]*operatorsv1alpha1.ClusterServiceVersion{csv}, a.Caches.Services.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)), rollouts...)
}
