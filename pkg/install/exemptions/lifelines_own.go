package exemptions

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// own is how the objects of the Deployments that serve webhooks are called, and what else the
// manager makes of the ClusterServiceVersion.
type own struct {
	namespace                                string
	deployments, services, secrets, accounts []string
	others                                   []string // Deployments of the operator that serve no webhook
	issued                                   []string // what other issuers issue into
	orders, apis                             []string
	claims                                   ownClaims
	podLabels                                []labels.Set
}

func ownNames(in Input) own {
	o := own{namespace: in.CSV.Namespace}
	for _, spec := range csvspec.Deployments(in.CSV) {
		if len(csvspec.Descriptions(in.CSV, spec.Name)) == 0 {
			o.others = append(o.others, spec.Name)
			continue
		}
		service := cmp.Or(in.Services[spec.Name], names.Service(spec.Name))
		pod := spec.Spec.Template.Spec
		o.deployments = append(o.deployments, spec.Name)
		o.services = append(o.services, service)
		o.secrets = append(o.secrets, names.Secret(service))
		o.issued = append(o.issued, names.CA(service), names.Issued(names.CA(service)), names.Issued(names.Secret(service)))
		o.orders = append(o.orders, names.Secret(service), names.CA(service), names.SelfSigned(service))
		for _, d := range csvspec.ServedAPIServices(in.CSV, spec.Name) {
			o.apis = append(o.apis, d.GenerateName)
		}
		o.accounts = append(o.accounts, cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default"))
		o.claims.add(pod, in.Config)
		o.podLabels = append(o.podLabels, labels.Merge(spec.Spec.Template.Labels, map[string]string{wellknown.LabelCSV: names.LabelValue(in.CSV.Name)}))
	}
	o.accounts = slices.Compact(slices.Sorted(slices.Values(o.accounts)))
	return o
}

// users are the identities of the pods.
func (o own) users() []string {
	var users []string
	for _, account := range o.accounts {
		users = append(users, serviceAccountPrefix+o.namespace+":"+account)
	}
	return users
}

// exemptions are the requests that make the own objects, and what Kubernetes derives from
// them. The machinery are those who may send them.
func (o own) exemptions(machinery string) []Exemption {
	here := []string{o.namespace}
	return []Exemption{
		{
			Name: "own-pods", What: "its own pods",
			subjects: podSubjects, namespaces: here, labels: o.podLabels,
			which: anyOf(ownedBy("ReplicaSet", o.replicaSetNames()), podSubresource(o.podNames())), who: machinery,
		}, {
			Name: "own-replicasets", What: "its own ReplicaSets",
			subjects: namespacedSubjects("apps", "replicasets", "status", "scale"), namespaces: here, labels: o.podLabels,
			which: ownedBy("Deployment", exactly(o.deployments)), who: machinery,
		}, {
			Name: "own-deployments", What: "its own Deployments",
			subjects: namespacedSubjects("apps", "deployments", "status", "scale"), namespaces: here,
			which: named(o.deployments), who: machinery,
		}, {
			Name: "own-services", What: "its own Services and their endpoints",
			subjects: slices.Concat(namespacedSubjects("", "services", "status"), namespacedSubjects("", "endpoints"),
				namespacedSubjects("discovery.k8s.io", "endpointslices")),
			namespaces: here, which: anyOf(named(o.services), ownedBy("Service", exactly(o.services))), who: machinery,
		}, {
			Name: "own-certificates", What: "its own serving certificates",
			subjects: slices.Concat(namespacedSubjects("", "secrets"), namespacedSubjects("", "configmaps"),
				namespacedSubjects(rbacGroup, "roles"), namespacedSubjects(rbacGroup, "rolebindings")),
			namespaces: here, which: named(slices.Concat(o.secrets, o.issued)), who: machinery,
		}, {
			Name: "own-accounts", What: "its own ServiceAccounts and their tokens",
			subjects: slices.Concat(namespacedSubjects("", "serviceaccounts"), []subject{creation("serviceaccounts", "token")},
				namespacedSubjects("", "configmaps")),
			namespaces: here, which: named(append([]string{"kube-root-ca.crt"}, o.accounts...)), who: machinery,
		}, {
			Name: "own-quota", What: "the usage of its namespace's quota",
			subjects: namespacedSubjects("", "resourcequotas", "status"), namespaces: here, who: systemIdentities,
		}, {
			Name: "own-leases", What: "its own leases",
			subjects: namespacedSubjects("coordination.k8s.io", "leases"), namespaces: here, who: userIn(o.users()...),
		},
	}
}

// podSubjects are the requests that make, place, run and remove a pod.
var podSubjects = slices.Concat(
	namespacedSubjects("", "pods", "status"),
	[]subject{creation("pods", "binding"), creation("pods", "eviction"), creation("bindings", "")},
)
