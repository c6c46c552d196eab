package e2e

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// identities is locked by tests that need the Leases of all API servers to be true; others share it while they have one of
// their own.
var identities sync.RWMutex

// missAnAPIServer creates the Lease of an API server that cannot be asked. Until the end of the test, rotations stay in phase
// Distributing for --certificate-settle.
func missAnAPIServer(e *env) {
	e.Helper()
	labels, err := metav1.ParseToLabelSelector(apiservers.IdentitySelector())
	e.must(err)
	identities.RLock()
	e.Cleanup(identities.RUnlock)
	kube.CreateTemporary(e, kubeClient.CoordinationV1().Leases(apiservers.IdentityNamespace), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "apiserver-" + e.namespace, Labels: labels.MatchLabels},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &e.namespace, LeaseDurationSeconds: new(int32(3600)), RenewTime: &metav1.MicroTime{Time: time.Now()}},
	})
}

// migrate runs storage migrate, which asks all API servers.
func (e *env) migrate(arguments ...string) {
	e.Helper()
	identities.Lock()
	defer identities.Unlock()
	e.manager(append([]string{"storage", "migrate", "--api-server-request-timeout=5s"}, arguments...)...)
}
