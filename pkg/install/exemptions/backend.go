package exemptions

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// backend has the names of the objects that the Deployments with webhooks depend on.
type backend struct {
	namespace                                string
	deployments, services, secrets, accounts []string
	others                                   []string // Deployments without webhooks
	issued                                   []string // Secrets of other issuers
	orders, apis                             []string
	claims                                   podClaims
	podLabels                                []labels.Set
}

func backendOf(in Input) backend {
	b := backend{namespace: in.CSV.Namespace}
	for _, spec := range csvspec.Deployments(in.CSV) {
		if len(csvspec.Descriptions(in.CSV, spec.Name)) == 0 {
			b.others = append(b.others, spec.Name)
			continue
		}
		service := cmp.Or(in.Services[spec.Name], names.Service(spec.Name))
		pod := spec.Spec.Template.Spec
		b.deployments = append(b.deployments, spec.Name)
		b.services = append(b.services, service)
		b.secrets = append(b.secrets, names.Secret(service))
		b.issued = append(b.issued, names.CA(service), names.Issued(names.CA(service)), names.Issued(names.Secret(service)))
		b.orders = append(b.orders, names.Secret(service), names.CA(service), names.SelfSigned(service))
		for _, d := range csvspec.ServedAPIServices(in.CSV, spec.Name) {
			b.apis = append(b.apis, d.GenerateName)
		}
		b.accounts = append(b.accounts, csvspec.ServiceAccountOf(pod))
		b.claims.add(pod, in.Config)
		b.podLabels = append(b.podLabels, labels.Merge(spec.Spec.Template.Labels, map[string]string{wellknown.LabelCSV: names.LabelValue(in.CSV.Name)}))
	}
	b.accounts = lists.Sorted(b.accounts)
	return b
}

func (b backend) users() []string {
	return lists.Map(b.accounts, func(account string) string { return serviceAccountPrefix + b.namespace + ":" + account })
}

// exemptions include what Kubernetes derives. controlPlane is the CEL expression for its users, and writers includes the
// clients that write objects of the operator.
func (b backend) exemptions(controlPlane, writers string) []Exemption {
	here := []string{b.namespace}
	return []Exemption{
		{
			Name: "own-pods", What: "its own pods",
			subjects: podSubjects, namespaces: here, labels: b.podLabels,
			which: anyOf(ownedBy("ReplicaSet", b.replicaSetNames()), podSubresource(b.podNames())), who: controlPlane,
		}, {
			Name: "own-replicasets", What: "its own ReplicaSets",
			subjects: namespacedSubjects("apps", "replicasets", "status", "scale"), namespaces: here, labels: b.podLabels,
			which: ownedBy("Deployment", exactly(b.deployments)), who: controlPlane,
		}, {
			Name: "own-deployments", What: "its own Deployments",
			subjects: namespacedSubjects("apps", "deployments", "status", "scale"), namespaces: here,
			which: named(b.deployments), who: writers,
		}, {
			Name: "own-services", What: "its own Services and their endpoints",
			subjects: slices.Concat(namespacedSubjects("", "services", "status"), namespacedSubjects("", "endpoints"),
				namespacedSubjects("discovery.k8s.io", "endpointslices")),
			namespaces: here, which: anyOf(named(b.services), ownedBy("Service", exactly(b.services))), who: writers,
		}, {
			Name: "own-certificates", What: "its own serving certificates",
			subjects: slices.Concat(namespacedSubjects("", "secrets"), namespacedSubjects("", "configmaps"),
				namespacedSubjects(rbacGroup, "roles"), namespacedSubjects(rbacGroup, "rolebindings")),
			namespaces: here, which: named(slices.Concat(b.secrets, b.issued)), who: writers,
		}, {
			Name: "own-accounts", What: "its own ServiceAccounts and their tokens",
			subjects: slices.Concat(namespacedSubjects("", "serviceaccounts"), []subject{creation("serviceaccounts", "token")},
				namespacedSubjects("", "configmaps")),
			namespaces: here, which: named(append([]string{"kube-root-ca.crt"}, b.accounts...)), who: controlPlane,
		}, {
			Name: "own-quota", What: "the usage of its namespace's quota",
			subjects: namespacedSubjects("", "resourcequotas", "status"), namespaces: here, who: systemIdentities,
		}, {
			Name: "own-leases", What: "its own leases",
			subjects: namespacedSubjects("coordination.k8s.io", "leases"), namespaces: here, who: userIn(b.users()...),
		},
	}
}

// podSubjects are the requests that create, schedule, run and delete a pod.
var podSubjects = slices.Concat(
	namespacedSubjects("", "pods", "status"),
	[]subject{creation("pods", "binding"), creation("pods", "eviction"), creation("bindings", "")},
)

// Deployments without webhooks may come first in the CSV's order. Their pods are not exempted.
func (b backend) otherDeployments(writers string) []Exemption {
	if len(b.others) == 0 {
		return nil
	}
	return []Exemption{{
		Name: "other-deployments", What: "the manager's writes of its operator's other Deployments",
		subjects: namespacedSubjects("apps", "deployments"), namespaces: []string{b.namespace}, which: named(b.others), who: writers,
	}}
}

// Orders are the resources, in namespaces and of groups that controllers of certificate providers define, of the
// objects by which the manager requests certificates.
var Orders = []schema.GroupResource{
	{Group: "cert-manager.io", Resource: "certificates"},
	{Group: "cert-manager.io", Resource: "issuers"},
}

// The account of cert-manager is not known, so its own writes are not exempted.
func (b backend) orderExemptions(writers, controlPlane string) []Exemption {
	subjects := lists.Map(Orders, func(order schema.GroupResource) []subject { return namespacedSubjects(order.Group, order.Resource) })
	orders := Exemption{
		Name: "own-orders", What: "the manager's orders of its certificates",
		subjects: slices.Concat(subjects...), namespaces: []string{b.namespace}, which: named(b.orders), who: writers,
	}
	if len(b.apis) == 0 {
		return []Exemption{orders}
	}
	return []Exemption{orders, {
		Name: "own-apiservices", What: "its own APIServices",
		subjects: clusterSubjects(apiregistrationv1.GroupName, "apiservices", "status"), which: named(b.apis), who: controlPlane,
	}}
}
