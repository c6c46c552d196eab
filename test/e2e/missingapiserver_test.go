package e2e

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// missAnAPIServer creates the Lease of an API server that cannot be asked. Until the end of the test, rotations stay in phase
// Distributing for --certificate-settle.
func missAnAPIServer(e *env) {
	e.Helper()
	labels, err := metav1.ParseToLabelSelector(apiservers.IdentitySelector())
	e.must(err)
	kube.CreateTemporary(e, kubeClient.CoordinationV1().Leases(apiservers.IdentityNamespace), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "apiserver-" + e.namespace, Labels: labels.MatchLabels},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &e.namespace, LeaseDurationSeconds: new(int32(3600)), RenewTime: &metav1.MicroTime{Time: time.Now()}},
	})
}
