package gather

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (g *Gatherer) ruleDefinitions(csv *operatorsv1alpha1.ClusterServiceVersion) []*apiextensionsv1.CustomResourceDefinition {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, d := range csv.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(csv)] {
		for _, rule := range d.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if crd := g.Caches.CRDs.Get("", resource+"."+group); crd != nil {
						found = append(found, crd)
					}
				}
			}
		}
	}
	return found
}

func delegating[T drift.Object](objects []T, do bool) []T {
	return slices.DeleteFunc(objects, func(o T) bool { return permissions.Delegates(o) != do })
}

// Owned are the objects that definitions may own and that belong to a ClusterServiceVersion.
func (g *Gatherer) Owned(csv *operatorsv1alpha1.ClusterServiceVersion) map[owners.Kind][]metav1.Object {
	all := map[owners.Kind][]metav1.Object{
		owners.Deployments:     ownedBy(csv, g.Caches.Deployments),
		owners.Services:        ownedBy(csv, g.Caches.Services),
		owners.Secrets:         ownedBy(csv, g.Caches.Secrets),
		owners.RoleBindings:    ownedBy(csv, g.Caches.RoleBindings),
		owners.Roles:           ownedBy(csv, g.Caches.Roles),
		owners.ServiceAccounts: ownedBy(csv, g.Caches.Accounts),
	}
	if condition := g.condition(csv); condition.Cached && condition.Live != nil { // the cache causes a reconciliation when it is filled
		all[owners.OperatorConditions] = []metav1.Object{condition.Live}
	}
	return all
}

func (g *Gatherer) addOwned(s *decide.Facts) {
	s.Owned, s.FieldContests = g.Owned(s.CSV), map[string]drift.FieldContest{}
	add := func(key string, uid types.UID) {
		if contest, known := g.FieldContests.Contest(records.FieldObject{Title: key, UID: uid}); known {
			s.FieldContests[key] = contest
		}
	}
	add(drift.KeyOf(s.CSV), s.CSV.UID)
	for kind, objects := range s.Owned {
		for _, o := range objects {
			add(rollout.OwnersKey(kind.Name, o), o.GetUID())
		}
	}
}

func ownedBy[T drift.Object](csv *operatorsv1alpha1.ClusterServiceVersion, cache informers.Store[T]) (all []metav1.Object) {
	for _, o := range inNamespace(csv.Namespace, cache.OfOwner(informers.OwnerID(csv.Namespace, csv.Name))) {
		all = append(all, o)
	}
	return all
}

// inNamespace are the objects of a namespace: what was lifted has the name of its source.
func inNamespace[T drift.Object](namespace string, objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(o T) bool { return o.GetNamespace() != namespace })
}

func podsByDeployment(csv *operatorsv1alpha1.ClusterServiceVersion, pods []*corev1.Pod) map[string][]*corev1.Pod {
	found := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		for _, deployment := range csvspec.DeploymentsSelecting(csv, pod.Labels) {
			found[deployment] = append(found[deployment], pod)
		}
	}
	return found
}

// podsOf includes the pods of Deployments that stay as olm-operator made them.
func podsOf(g *Gatherer, csv *operatorsv1alpha1.ClusterServiceVersion, ids []string, deployments []*appsv1.Deployment) map[string][]*corev1.Pod {
	pods := g.Caches.Pods.OfOwners(ids)
	unlabelled := func(d *appsv1.Deployment) bool { return d.Spec.Template.Labels[wellknown.LabelCSV] == "" }
	if csvspec.TakeoverOrder(csv) != "" && slices.ContainsFunc(deployments, unlabelled) {
		adopted, _ := g.AdoptedPods.In(csv.Namespace) // the watch reports each
		pods = slices.Concat(pods, adopted)
	}
	return podsByDeployment(csv, pods)
}

// slicesOf finds EndpointSlices by their Service: they inherit its labels, and those of olm-operator name no owner.
func slicesOf(cache informers.Store[*discoveryv1.EndpointSlice], services []*corev1.Service) map[string][]*discoveryv1.EndpointSlice {
	found := map[string][]*discoveryv1.EndpointSlice{}
	for _, s := range services {
		found[s.Name] = cache.By(informers.ByService, s.Namespace+"/"+s.Name)
	}
	return found
}

func byName[T drift.Object](objects []T) map[string]T {
	named := make(map[string]T, len(objects))
	for _, o := range objects {
		named[o.GetName()] = o
	}
	return named
}

func (g *Gatherer) addSecrets(s *decide.Facts) {
	deployments := sets.KeySet(s.Observed.Deployments)
	for _, version := range s.Versions() {
		deployments.Insert(csvspec.DeploymentNames(version)...)
	}
	var served, issued []string
	for deployment := range deployments {
		services := []string{names.Service(deployment)}
		for _, version := range s.Versions() {
			services = append(services, csvspec.AlternateServiceName(version, deployment))
		}
		for _, service := range services {
			served = append(served, names.Secret(service))
			issued = append(issued, names.Issued(names.CA(service)), names.Issued(names.Secret(service)))
		}
	}
	s.Secrets, s.Issued = g.Caches.Secrets.Existing(s.CSV.Namespace, served), g.Caches.Secrets.Existing(s.CSV.Namespace, issued)
}
