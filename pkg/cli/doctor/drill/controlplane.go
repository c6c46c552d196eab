package drill

import (
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// The programs of the control plane that write leases before they act.
const (
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
)

// leadership are the requests of a program until it leads. One without a Lease in the snapshot runs without an election.
func (s Snapshot) leadership(name string, by explain.User) []request {
	lease := s.lease(metav1.NamespaceSystem, name)
	if lease == nil {
		return nil
	}
	return []request{updating(leases, lease, lease.DeepCopy(), by)}
}

func (s Snapshot) lease(namespace, name string) *coordinationv1.Lease {
	for _, l := range s.Leases {
		if l.Namespace == namespace && l.Name == name {
			return l.DeepCopy()
		}
	}
	return nil
}

// controllerTokens are the requests by which the controller manager gets the tokens of its controllers.
func (s Snapshot) controllerTokens() []request {
	var all []request
	for _, a := range s.Accounts {
		if a.Namespace == metav1.NamespaceSystem && strings.HasSuffix(a.Name, "-controller") && neededControllers[a.Name] {
			all = append(all, tokenFor(a.Namespace, a.Name, controllerManager))
		}
	}
	return all
}

// neededControllers create pods and endpoints, and let Nodes become Ready.
var neededControllers = map[string]bool{
	"replicaset-controller": true, "statefulset-controller": true, "daemon-set-controller": true, "endpointslice-controller": true,
	"node-controller": true,
}

// registration is the first request of a kubelet that starts. API servers call webhooks before they find that the Node exists.
// The kubelet repeats the request, and sends no status, until the answer is success, AlreadyExists or Forbidden: see
// registerWithAPIServer in pkg/kubelet/kubelet_node_status.go of Kubernetes. A webhook that cannot be called is none of these.
func registration(n corev1.Node) request {
	created := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations},
		Spec:       corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: []corev1.Taint{notReady}}, Status: n.Status,
	}
	r := creating(nodes, created, kubelet(n.Name))
	r.mayBeForbidden = acceptsForbidden(n.Status.NodeInfo.KubeletVersion)
	return r
}

// acceptsForbidden reports whether a kubelet asks for its Node when it may not create it. Older ones have the feature gate
// KubeletRegistrationGetOnExistsOnly.
func acceptsForbidden(kubelet string) bool {
	v, err := version.ParseGeneric(kubelet)
	return err == nil && v.AtLeast(version.MajorMinor(1, 32))
}

// notReady is the taint that the API server gives a new Node, and the node controller one that is not Ready. The node
// controller removes it, and pods that do not tolerate it are not scheduled until then.
var notReady = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}

// untainting is the request by which the node controller removes the taint of a Node that has become Ready.
func (s Snapshot) untainting(n corev1.Node) request {
	untainted := n.DeepCopy()
	untainted.Spec.Taints = slices.DeleteFunc(untainted.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) })
	tainted := untainted.DeepCopy()
	tainted.Spec.Taints = append(tainted.Spec.Taints, notReady)
	return updating(nodes, tainted, untainted, s.controller("node-controller"))
}

// toleratesNotReady reports whether the scheduler chooses Nodes that are not Ready. The controller of DaemonSets adds no
// toleration for the effect NoSchedule of this taint.
func toleratesNotReady(pod corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Logger{}, &notReady, false)
	})
}

// heartbeat are the requests by which a Node becomes, and stays, Ready.
func (s Snapshot) heartbeat(n corev1.Node) []request {
	by := kubelet(n.Name)
	var all []request
	if lease := s.lease(corev1.NamespaceNodeLease, n.Name); lease != nil {
		all = append(all, updating(leases, lease, lease.DeepCopy(), by))
	}
	return append(all, updating(nodeStatus, n.DeepCopy(), n.DeepCopy(), by))
}
