package drill

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// heartbeat are the requests by which a Node becomes, and stays, Ready.
func (s Snapshot) heartbeat(n corev1.Node) []request {
	by := kubelet(n.Name)
	var all []request
	if lease := s.lease(corev1.NamespaceNodeLease, n.Name); lease != nil {
		all = append(all, updating(leases, lease, lease.DeepCopy(), by))
	}
	return append(all, updating(nodeStatus, n.DeepCopy(), n.DeepCopy(), by))
}
