package requirements

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// statusDeploymentNotFound is the status of an owned APIService whose Deployment is not in the CSV.
const statusDeploymentNotFound operatorsv1alpha1.StatusReason = "DeploymentNotFound"

const unaggregated = "the API server of this cluster does not pass requests on to others (apiregistration.k8s.io/v1): use one that does"

// requiredAPIServices checks the APIServices of other operators. OLM v0 reports only their status.
func requiredAPIServices(f Facts) []operatorsv1alpha1.RequirementStatus {
	return lists.Map(f.CSV.Spec.APIServiceDefinitions.Required, func(d operatorsv1alpha1.APIServiceDescription) operatorsv1alpha1.RequirementStatus {
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
		return result
	})
}

// Available reports whether API servers forward requests to an APIService.
func Available(service *apiregistrationv1.APIService) bool {
	return availability(service).Status == apiregistrationv1.ConditionTrue
}

func availability(service *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	return lists.First(service.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool { return c.Type == apiregistrationv1.Available })
}

// APIServices cannot be registered in a cluster without aggregation.
func registrable(f Facts) []operatorsv1alpha1.RequirementStatus {
	results := OwnedAPIServices(f.CSV)
	for i := range results {
		if f.NoAggregator {
			results[i].Status, results[i].Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, "APIService cannot be registered: "+unaggregated
		}
	}
	return results
}

// OwnedAPIServices has one result for each kind in spec.apiservicedefinitions.owned.
func OwnedAPIServices(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.RequirementStatus {
	deployments := sets.New(csvspec.DeploymentNames(csv)...)
	firstOf := map[string]operatorsv1alpha1.APIServiceDescription{} // by the name of the APIService
	for _, d := range slices.Backward(csv.Spec.APIServiceDefinitions.Owned) {
		firstOf[csvspec.APIServiceName(d.Group, d.Version)] = d
	}
	var results []operatorsv1alpha1.RequirementStatus
	for i, d := range csv.Spec.APIServiceDefinitions.Owned {
		result := apiServiceStatus(d)
		result.Status = csvstatus.DeploymentFound
		if !deployments.Has(d.DeploymentName) {
			result.Status = statusDeploymentNotFound
			result.Message = fmt.Sprintf("deploymentName %q is none of the ClusterServiceVersion's: correct it in spec.apiservicedefinitions.owned", d.DeploymentName)
		} else if first := firstOf[result.Name]; !servedAlike(first, d) {
			result.Status = operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied
			result.Message = fmt.Sprintf("its kinds %s and %s name two servers, an APIService has one: give spec.apiservicedefinitions.owned[%d] the deploymentName %q and the containerPort %d",
				first.Kind, d.Kind, i, first.DeploymentName, first.ContainerPort)
		}
		results = append(results, result)
	}
	return results
}

// servedAlike reports whether the same server serves two kinds.
func servedAlike(one, other operatorsv1alpha1.APIServiceDescription) bool {
	return one.DeploymentName == other.DeploymentName && cmp.Or(one.ContainerPort, csvspec.DefaultPort) == cmp.Or(other.ContainerPort, csvspec.DefaultPort)
}

func apiServiceStatus(d operatorsv1alpha1.APIServiceDescription) operatorsv1alpha1.RequirementStatus {
	return operatorsv1alpha1.RequirementStatus{
		Group: apiregistrationv1.GroupName, Version: "v1", Kind: "APIService", Name: csvspec.APIServiceName(d.Group, d.Version),
	}
}

// nativeAPIs checks the kinds that any server of the cluster must serve.
func nativeAPIs(f Facts) []operatorsv1alpha1.RequirementStatus {
	return lists.Map(f.CSV.Spec.NativeAPIs, func(api metav1.GroupVersionKind) operatorsv1alpha1.RequirementStatus {
		result := operatorsv1alpha1.RequirementStatus{
			Group: api.Group, Version: api.Version, Kind: api.Kind, Name: fmt.Sprintf("%s.%s.%s", api.Kind, api.Version, api.Group),
			Status: operatorsv1alpha1.RequirementStatusReasonPresent, Message: "Native API exists",
		}
		switch kind := schema.GroupVersionKind(api); {
		case f.undiscovered(kind, result):
			result.Status, result.Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, NotDiscovered(kind.GroupVersion())
		case !f.APIs[kind] && !f.Undiscovered[kind.GroupVersion()]:
			result.Status, result.Message = operatorsv1alpha1.RequirementStatusReasonNotPresent, "Native API does not exist"
		}
		return result
	})
}

// No event announces that the API server has updated its discovery after a change of an APIService or CRD.
const (
	shortestAPIPause = 250 * time.Millisecond
	longestAPIPause  = 30 * time.Second
)

// DiscoveryInterval grows with the time since a kind was announced, from 250 ms to 30 s.
func DiscoveryInterval(announced, now time.Time) time.Duration {
	return min(max(now.Sub(announced), shortestAPIPause), longestAPIPause)
}

// requeueAfter is zero if an event announces the missing object. None announces a new API server version.
func requeueAfter(f Facts) time.Duration {
	var pause time.Duration
	// No event announces the deletion of a Service without the manager's label.
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

// Without aggregation no APIService announces a native API.
func unserved(f Facts) []schema.GroupVersionKind {
	kinds := lists.Filter(csvspec.RequiredAPIs(f.CSV), func(kind schema.GroupVersionKind) bool {
		return f.APIServices[csvspec.APIServiceName(kind.Group, kind.Version)] != nil && !f.APIs[kind]
	})
	for _, api := range f.CSV.Spec.NativeAPIs {
		if f.NoAggregator && !f.APIs[schema.GroupVersionKind(api)] {
			kinds = append(kinds, schema.GroupVersionKind(api))
		}
	}
	return kinds
}

// DiscoveryPath returns the discovery path of a version of a group.
func DiscoveryPath(group schema.GroupVersion) string {
	if group.Group == "" {
		return path.Join("/api", group.Version)
	}
	return path.Join("/apis", group.Group, group.Version)
}

// NotDiscovered returns the message for a version of a group without an answer.
func NotDiscovered(group schema.GroupVersion) string {
	return fmt.Sprintf("the API server has not answered which kinds it serves: see kubectl get --raw %s", DiscoveryPath(group))
}

// The discovery request was not answered.
func (f Facts) undiscovered(kind schema.GroupVersionKind, requirement operatorsv1alpha1.RequirementStatus) bool {
	return f.Undiscovered[kind.GroupVersion()] && !f.wasMet(requirement)
}

// After a start of the manager, the status is the last known result.
func (f Facts) wasMet(requirement operatorsv1alpha1.RequirementStatus) bool {
	recorded := slices.DeleteFunc(slices.Clone(f.CSV.Status.RequirementStatus), func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Group != requirement.Group || r.Version != requirement.Version || r.Kind != requirement.Kind || r.Name != requirement.Name
	})
	return f.Began && len(recorded) > 0 && !slices.ContainsFunc(recorded, func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Status != operatorsv1alpha1.RequirementStatusReasonPresent
	})
}
