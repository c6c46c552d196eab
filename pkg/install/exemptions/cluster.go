package exemptions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

const (
	kubeSystem    = "kube-system"
	kubeNodeLease = "kube-node-lease"
)

// clusterExemptions keep the nodes and the control plane running.
func clusterExemptions(manager, controlPlane string) []Exemption {
	system := []string{kubeSystem}
	if namespace := namespaceOf(manager); namespace != "" {
		system = append(system, namespace)
	}
	return []Exemption{
		{
			// Every API server creates this ServiceCIDR, and is not healthy without it. Users write others.
			Name: "cluster-addresses", What: "the range of the cluster's cluster IPs",
			subjects: clusterSubjects(networkingGroup, "servicecidrs", "status"), which: named([]string{"kubernetes"}), who: userIn(apiServer),
		}, {
			Name: "nodes", What: "the status of nodes",
			subjects: slices.Concat(clusterSubjects("", "nodes", "status"), clusterSubjects("storage.k8s.io", "csinodes")), who: systemIdentities,
		}, {
			Name: "node-certificates", What: "the certificates that nodes join by",
			subjects: clusterSubjects("certificates.k8s.io", "certificatesigningrequests", "approval", "status"),
			which:    showing(fieldIn("o.spec.signerName", kubeletSigner)), who: anyOf(systemIdentities, groupIs("system:bootstrappers")),
		}, {
			Name: "volume-attachments", What: "the attaching of volumes to nodes",
			subjects: clusterSubjects("storage.k8s.io", "volumeattachments"), who: userIn(controllerIdentity("attachdetach-controller"), controllerManager),
		}, {
			Name: "node-leases", What: "the leases of nodes",
			subjects: namespacedSubjects("coordination.k8s.io", "leases"), namespaces: []string{kubeNodeLease}, who: systemIdentities,
		}, {
			Name: "system-leases", What: "the leases of the control plane and of the manager",
			subjects: namespacedSubjects("coordination.k8s.io", "leases"), namespaces: system, who: controlPlane,
		}, {
			Name: "system-workloads", What: "the workloads of " + strings.Join(system, " and "),
			subjects: systemWorkloads, namespaces: system, who: systemIdentities,
		}, {
			Name: "manager-writes", What: "the manager's writes to Namespaces and CustomResourceDefinitions, and its SelfSubjectReviews",
			subjects: []subject{update("", "namespaces"), update("apiextensions.k8s.io", "customresourcedefinitions"), selfReview}, who: userIn(manager),
		},
	}
}

// kubeletSigner is for client certificates. Serving certificates are not needed to start a pod.
const kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet"

// selfReview is the first request of the manager when it starts.
var selfReview = subject{
	GroupResource: schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}, extent: rules.ClusterScoped, bare: true,
	operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
}

// Without the cluster's network, DNS and storage no other pod starts.
var systemWorkloads = slices.Concat(
	podSubjects,
	namespacedSubjects("apps", "replicasets"), namespacedSubjects("apps", "controllerrevisions"),
	namespacedSubjects("", "endpoints"), namespacedSubjects("discovery.k8s.io", "endpointslices"),
	namespacedSubjects("", "configmaps"), namespacedSubjects("", "serviceaccounts"), []subject{creation("serviceaccounts", "token")},
	namespacedSubjects("", "resourcequotas", "status"),
)

const serviceAccountPrefix = "system:serviceaccount:"

// namespaceOf returns the namespace of a ServiceAccount, or "" for any other user.
func namespaceOf(user string) string {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, _, _ := strings.Cut(account, ":")
	if !ok {
		return ""
	}
	return namespace
}

// networkingGroup has the kinds in which API servers record the allocated cluster IPs.
const networkingGroup = "networking.k8s.io"

// The API server creates an IPAddress before it stores a Service. If it is refused, so is the Service.
func (b backend) addressExemption() Exemption {
	const service = "o.spec.parentRef."
	return Exemption{
		Name: "own-addresses", What: "the cluster IPs of its own Services",
		subjects: clusterSubjects(networkingGroup, "ipaddresses"),
		which:    showing(fieldIn(service+"resource", "services"), fieldIn(service+"namespace", b.namespace), fieldIn(service+"name", b.services...)),
		who:      userIn(apiServer),
	}
}

const rbacGroup = "rbac.authorization.k8s.io"

// A refused write of roles and bindings ends the reconciliation. They are selected by label, because lifted roles
// have other roles' names. A lifted role can belong to the previous version, in the same namespace.
func permissionsExemption(csv *operatorsv1alpha1.ClusterServiceVersion, manager string) Exemption {
	return Exemption{
		Name: "own-permissions", What: "its own roles and their bindings",
		subjects: slices.Concat(
			namespacedSubjects(rbacGroup, "roles"), namespacedSubjects(rbacGroup, "rolebindings"),
			clusterSubjects(rbacGroup, "clusterroles"), clusterSubjects(rbacGroup, "clusterrolebindings"),
		),
		which: labelled(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelGrantedPermissions: "true", wellknown.LabelOwnerNamespace: csv.Namespace}), who: userIn(manager),
	}
}

// labelled is true for requests about objects that have all labels of one of the sets.
func labelled(sets ...map[string]string) string {
	var alternatives []string
	for _, set := range sets {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(set)) {
			k := strconv.Quote(key)
			all = append(all, k+" in o.metadata.labels && o.metadata.labels["+k+"] == "+strconv.Quote(set[key]))
		}
		alternatives = append(alternatives, strings.Join(all, " && "))
	}
	return showing(given("o.metadata.labels"), parenthesised(anyOf(alternatives...)))
}
