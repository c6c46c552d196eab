package exemptions

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

const (
	kubeSystem    = "kube-system"
	kubeNodeLease = "kube-node-lease"
)

// clusterExemptions are the requests by which the cluster keeps running what pods run on,
// and those of the manager that are not about one ClusterServiceVersion's own objects.
func clusterExemptions(manager, machinery string) []Exemption {
	system := []string{kubeSystem}
	if namespace := namespaceOf(manager); namespace != "" {
		system = append(system, namespace)
	}
	return []Exemption{
		rangeExemption(), {
			Name: "nodes", What: "what nodes say of themselves",
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
			subjects: namespacedSubjects("coordination.k8s.io", "leases"), namespaces: system, who: machinery,
		}, {
			Name: "system-workloads", What: "the workloads of " + strings.Join(system, " and "),
			subjects: systemWorkloads, namespaces: system, who: systemIdentities,
		}, {
			Name: "manager-writes", What: "the manager's writes to Namespaces and CustomResourceDefinitions, and its question who it is",
			subjects: []subject{update("", "namespaces"), update("apiextensions.k8s.io", "customresourcedefinitions"), selfReview}, who: userIn(manager),
		},
	}
}

// kubeletSigner signs what kubelets show to API servers. What they show themselves, when
// somebody asks them for logs, keeps no pod from starting.
const kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet"

// selfReview is what a manager asks before it begins: unanswered, none ever would.
var selfReview = subject{
	GroupResource: schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}, extent: rules.ClusterScoped, bare: true,
	operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
}

// systemWorkloads are the requests that the cluster's own network, names and storage come
// back by, without which no other pod starts.
var systemWorkloads = slices.Concat(
	podSubjects,
	namespacedSubjects("apps", "replicasets"), namespacedSubjects("apps", "controllerrevisions"),
	namespacedSubjects("", "endpoints"), namespacedSubjects("discovery.k8s.io", "endpointslices"),
	namespacedSubjects("", "configmaps"), namespacedSubjects("", "serviceaccounts"), []subject{creation("serviceaccounts", "token")},
	namespacedSubjects("", "resourcequotas", "status"),
)

const serviceAccountPrefix = "system:serviceaccount:"

// namespaceOf is where a ServiceAccount lives; empty for any other user.
func namespaceOf(user string) string {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, _, _ := strings.Cut(account, ":")
	if !ok {
		return ""
	}
	return namespace
}
