package apiserver

import (
	"context"
	"errors"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	apiservices "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	mutatingwebhooks "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration/storage"
	validatingwebhooks "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration/storage"
	deployments "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicasets "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	"k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview"
	"k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"
	leases "k8s.io/kubernetes/pkg/registry/coordination/lease/storage"
	configmaps "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpoints "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	events "k8s.io/kubernetes/pkg/registry/core/event/storage"
	namespaces "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	pods "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	secrets "k8s.io/kubernetes/pkg/registry/core/secret/storage"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	services "k8s.io/kubernetes/pkg/registry/core/service/storage"
	serviceaccounts "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	endpointslices "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"
	networkpolicies "k8s.io/kubernetes/pkg/registry/networking/networkpolicy/storage"
	disruptionbudgets "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/storage"
)

// storages are those of one group in version v1, by resource or resource/subresource.
type storages map[string]rest.Storage

// groups returns the built-in kinds of kube-apiserver that the simulation has, with kube-apiserver's registries.
func groups() (map[string]storages, error) {
	options := builtIn{legacyscheme.Scheme, legacyscheme.Codecs}
	all := map[string]storages{}
	var errs []error
	add := func(group string, more storages, err error) {
		errs = append(errs, err)
		if all[group] == nil {
			all[group] = storages{}
		}
		for name, storage := range more {
			all[group][name] = storage
		}
	}
	addCore(options, add)
	addWorkloads(options, add)
	addRBAC(options, add)
	addExtensions(add)
	add("authentication.k8s.io", storages{"selfsubjectreviews": selfsubjectreview.NewREST()}, nil)
	add("authorization.k8s.io", storages{
		"selfsubjectaccessreviews":  selfsubjectaccessreview.NewREST(authority{}),
		"subjectaccessreviews":      subjectaccessreview.NewREST(authority{}),
		"localsubjectaccessreviews": localsubjectaccessreview.NewREST(authority{}),
	}, nil)
	return all, errors.Join(errs...)
}

type addFunc func(group string, more storages, err error)

func addCore(options builtIn, add addFunc) {
	secret, err := secrets.NewREST(options)
	add("", storages{"secrets": secret}, err)
	configMap, err := configmaps.NewREST(options)
	add("", storages{"configmaps": configMap}, err)
	event, err := events.NewREST(options, 3600)
	add("", storages{"events": event}, err)
	add("events.k8s.io", storages{"events": event}, err)
	namespace, namespaceStatus, finalize, err := namespaces.NewREST(options)
	namespaceStore = namespace
	add("", storages{"namespaces": namespace, "namespaces/status": namespaceStatus, "namespaces/finalize": finalize}, err)
	endpoint, err := endpoints.NewREST(options)
	add("", storages{"endpoints": endpoint}, err)
	none := missing{}
	account, err := serviceaccounts.NewREST(options, nil, nil, 0, none, none, none, false, 0)
	add("", storages{"serviceaccounts": account}, err)
	pod, err := pods.NewStorage(options, nil, nil, nil, authority{})
	add("", storages{"pods": pod.Pod, "pods/status": pod.Status, "pods/binding": pod.Binding}, err)
	addresses := map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: &addresses{}}
	service, serviceStatus, _, err := services.NewREST(options, core.IPv4Protocol, addresses, &ports{}, keptEndpoints{endpoint}, pod.Pod, nil)
	add("", storages{"services": service, "services/status": serviceStatus}, err)
}

// keptEndpoints does not delete the Endpoints of a deleted Service: kube-apiserver does so without the context of the request, which
// names the API server here.
type keptEndpoints struct{ services.EndpointsStorage }

func (keptEndpoints) Delete(context.Context, string, rest.ValidateObjectFunc, *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return nil, true, nil
}

func addWorkloads(options builtIn, add addFunc) {
	deployment, err := deployments.NewStorage(options)
	add("apps", storages{"deployments": deployment.Deployment, "deployments/status": deployment.Status, "deployments/scale": deployment.Scale}, err)
	replicaSet, err := replicasets.NewStorage(options)
	add("apps", storages{"replicasets": replicaSet.ReplicaSet, "replicasets/status": replicaSet.Status, "replicasets/scale": replicaSet.Scale}, err)
	budget, budgetStatus, err := disruptionbudgets.NewREST(options)
	add("policy", storages{"poddisruptionbudgets": budget, "poddisruptionbudgets/status": budgetStatus}, err)
	slice, err := endpointslices.NewREST(options)
	add("discovery.k8s.io", storages{"endpointslices": slice}, err)
	lease, err := leases.NewREST(options)
	add("coordination.k8s.io", storages{"leases": lease}, err)
	policy, err := networkpolicies.NewREST(options)
	add("networking.k8s.io", storages{"networkpolicies": policy}, err)
	validating, err := validatingwebhooks.NewREST(options)
	add("admissionregistration.k8s.io", storages{"validatingwebhookconfigurations": validating}, err)
	mutating, err := mutatingwebhooks.NewREST(options)
	add("admissionregistration.k8s.io", storages{"mutatingwebhookconfigurations": mutating}, err)
}

func addExtensions(add addFunc) {
	definition, err := customresourcedefinition.NewREST(crdapiserver.Scheme, builtIn{crdapiserver.Scheme, crdapiserver.Codecs})
	status := customresourcedefinition.NewStatusREST(crdapiserver.Scheme, definition)
	add(apiextensions.GroupName, storages{"customresourcedefinitions": definition, "customresourcedefinitions/status": status}, err)
	service := apiservices.NewREST(aggregatorscheme.Scheme, builtIn{aggregatorscheme.Scheme, aggregatorscheme.Codecs})
	serviceStatus := apiservices.NewStatusREST(aggregatorscheme.Scheme, service)
	add(apiregistration.GroupName, storages{"apiservices": service, "apiservices/status": serviceStatus}, nil)
}
