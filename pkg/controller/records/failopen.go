package records

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// FailOpen is what this process knows of webhooks that may open, by ClusterServiceVersion. If it is lost, a webhook opens
// later.
type FailOpen struct {
	mutex    sync.Mutex
	memories map[types.NamespacedName]failOpenMemories
}

type failOpenMemories struct {
	csv       types.UID
	byWebhook map[csvspec.Identity]failopen.Memory
}

// Of returns what is known about the webhooks of a ClusterServiceVersion.
func (r *FailOpen) Of(csv *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]failopen.Memory {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.memories[NameOf(csv)]; known.csv == csv.UID {
		return maps.Clone(known.byWebhook)
	}
	return nil
}

// Add records the decisions of a reconciliation, also of one that has failed; nil for none, which is an interruption. Webhooks
// without a record in the status need no memory.
func (r *FailOpen) Add(csv *operatorsv1alpha1.ClusterServiceVersion, decisions map[csvspec.Identity]failopen.Decision) {
	if decisions == nil {
		r.Interrupt(csv)
		return
	}
	known := map[csvspec.Identity]failopen.Memory{}
	for webhook, decision := range decisions {
		if decision.Record != nil {
			known[webhook] = decision.Memory
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(known) == 0 {
		delete(r.memories, NameOf(csv))
		return
	}
	put(&r.memories, NameOf(csv), failOpenMemories{csv.UID, known})
}

// Interrupt records that no decision is made about a ClusterServiceVersion for a time.
func (r *FailOpen) Interrupt(csv *operatorsv1alpha1.ClusterServiceVersion) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.memories[NameOf(csv)]
	interrupted := make(map[csvspec.Identity]failopen.Memory, len(known.byWebhook))
	for webhook, memory := range known.byWebhook {
		interrupted[webhook] = memory.Interrupted()
	}
	if len(interrupted) > 0 {
		r.memories[NameOf(csv)] = failOpenMemories{known.csv, interrupted}
	}
}

// Forget removes what is known about a ClusterServiceVersion that does not exist.
func (r *FailOpen) Forget(csv types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.memories, csv)
}
