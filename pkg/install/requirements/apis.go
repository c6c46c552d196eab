package requirements

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// statusDeploymentNotFound is the status of an owned APIService whose Deployment the
// ClusterServiceVersion does not list.
const statusDeploymentNotFound operatorsv1alpha1.StatusReason = "DeploymentNotFound"

const unaggregated = "the API server of this cluster does not pass requests on to others (apiregistration.k8s.io/v1): use one that does"

// requiredAPIServices are those that other operators serve. OLM v0 says nothing but
// the status of them.
func requiredAPIServices(f Facts) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for _, d := range f.CSV.Spec.APIServiceDefinitions.Required {
		result := apiServiceStatus(d)
		result.Status = operatorsv1alpha1.RequirementStatusReasonNotPresent
		service := f.APIServices[result.Name]
		kind := schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}
		switch {
		case f.NoAggregator:
			result.Message = "APIService is not present: " + unaggregated
		case service == nil:
			result.Message = "APIService is not present: install the operator that serves it"
		case f.undiscovered(kind, result):
			result.Message = "APIService is present, but " + NotDiscovered(kind.GroupVersion())
		case !f.APIs[kind] && !f.Undiscovered[kind.GroupVersion()]:
			result.Message = fmt.Sprintf("APIService is present, but does not serve the kind %s", d.Kind)
		case !Available(service):
			result.Message = "APIService is present, but not available: " + cmp.Or(availability(service).Message, "not yet")
		default:
			result.Status, result.UUID = operatorsv1alpha1.RequirementStatusReasonPresent, string(service.UID)
		}
		results = append(results, result)
	}
	return results
}

// Available tells whether API servers pass requests on to an APIService.
func Available(service *apiregistrationv1.APIService) bool {
	return availability(service).Status == apiregistrationv1.ConditionTrue
}

func availability(service *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	for _, c := range service.Status.Conditions {
		if c.Type == apiregistrationv1.Available {
			return c
		}
	}
	return apiregistrationv1.APIServiceCondition{}
}

// registrable are those of them that can be registered: none, in a cluster without aggregation.
func registrable(f Facts) []operatorsv1alpha1.RequirementStatus {
	results := OwnedAPIServices(f.CSV)
	for i := range results {
		if f.NoAggregator {
			results[i].Status, results[i].Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, "APIService cannot be registered: "+unaggregated
		}
	}
	return results
}

// OwnedAPIServices are those that a Deployment of the ClusterServiceVersion serves: one
// result for each kind that spec.apiservicedefinitions.owned lists.
func OwnedAPIServices(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for i, d := range csv.Spec.APIServiceDefinitions.Owned {
		result := apiServiceStatus(d)
		result.Status = csvstatus.DeploymentFound
		if !slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
			return spec.Name == d.DeploymentName
		}) {
			result.Status = statusDeploymentNotFound
			result.Message = fmt.Sprintf("deploymentName %q is none of the ClusterServiceVersion's: correct it in spec.apiservicedefinitions.owned", d.DeploymentName)
		} else if first := csvspec.OwnedKinds(csv, result.Name)[0]; !servedAlike(first, d) {
			result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
			result.Message = fmt.Sprintf("its kinds %s and %s name two servers, an APIService has one: give spec.apiservicedefinitions.owned[%d] the deploymentName %q and the containerPort %d",
				first.Kind, d.Kind, i, first.DeploymentName, first.ContainerPort)
		}
		results = append(results, result)
	}
	return results
}

// servedAlike tells whether the same server serves two kinds.
func servedAlike(one, other operatorsv1alpha1.APIServiceDescription) bool {
	return one.DeploymentName == other.DeploymentName && cmp.Or(one.ContainerPort, csvspec.DefaultPort) == cmp.Or(other.ContainerPort, csvspec.DefaultPort)
}

func apiServiceStatus(d operatorsv1alpha1.APIServiceDescription) operatorsv1alpha1.RequirementStatus {
	return operatorsv1alpha1.RequirementStatus{
		Group: apiregistrationv1.GroupName, Version: "v1", Kind: "APIService", Name: csvspec.APIServiceName(d.Group, d.Version),
	}
}

// nativeAPIs are kinds that the cluster has to serve, whoever serves them.
func nativeAPIs(f Facts) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for _, api := range f.CSV.Spec.NativeAPIs {
		result := operatorsv1alpha1.RequirementStatus{
			Group: api.Group, Version: api.Version, Kind: api.Kind, Name: fmt.Sprintf("%s.%s.%s", api.Kind, api.Version, api.Group),
			Status: operatorsv1alpha1.RequirementStatusReasonPresent, Message: "Native API exists",
		}
		switch kind := csvspec.GVK(api); {
		case f.undiscovered(kind, result):
			result.Status, result.Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, NotDiscovered(kind.GroupVersion())
		case !f.APIs[kind] && !f.Undiscovered[kind.GroupVersion()]:
			result.Status, result.Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, "Native API does not exist"
		}
		results = append(results, result)
	}
	return results
}

// The pauses between two questions to the API server about what it serves. No event announces the
// answer itself: discovery follows an APIService or a CustomResourceDefinition some time after it.
const (
	shortestAPIPause = 250 * time.Millisecond
	longestAPIPause  = 30 * time.Second
)

// DiscoveryInterval returns how long to wait before the API server is asked again whether it serves a kind.
// It grows with the time since a change last announced the kind, from 250 ms to 30 s.
func DiscoveryInterval(announced, now time.Time) time.Duration {
	return min(max(now.Sub(announced), shortestAPIPause), longestAPIPause)
}

// requeueAfter returns how soon to ask the API server again what it is and serves; zero when an event
// announces whatever is missing. Nothing announces another version of the API server.
func requeueAfter(f Facts) time.Duration {
	var pause time.Duration
	// Nor does anything announce that a Service without the manager's label is deleted.
	if awaitsKubernetes(f) || f.FinalizerProblem != "" || len(f.ConvertedByOthers) > 0 {
		pause = longestAPIPause
	}
	for _, kind := range unserved(f) {
		wait := DiscoveryInterval(f.Announced[kind.GroupVersion()], f.Now)
		if pause == 0 || wait < pause {
			pause = wait
		}
	}
	return pause
}

// unserved returns the kinds that are announced and that the API server does not serve. Without
// aggregation no APIService announces a native API.
func unserved(f Facts) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, kind := range csvspec.RequiredAPIs(f.CSV) {
		if f.APIServices[csvspec.APIServiceName(kind.Group, kind.Version)] != nil && !f.APIs[kind] {
			kinds = append(kinds, kind)
		}
	}
	for _, api := range f.CSV.Spec.NativeAPIs {
		if f.NoAggregator && !f.APIs[csvspec.GVK(api)] {
			kinds = append(kinds, csvspec.GVK(api))
		}
	}
	return kinds
}
