package prober

import (
	"context"
	"sync"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Beginnings asks API servers what they have observed of new registrations. One marker serves all ClusterServiceVersions that wait
// at the same time.
type Beginnings struct {
	*Prober
	// Record has the answers, for reconciliations. Changed adds the key of a ClusterServiceVersion that waited for one.
	Record  *records.Beginnings
	Changed func(queue.Key)

	mutex   sync.Mutex
	waiting map[queue.Key]beginning
	wake    chan struct{}
}

// beginning is a ClusterServiceVersion with new registrations.
type beginning struct {
	csv   *operatorsv1alpha1.ClusterServiceVersion
	kinds webhookconfig.Kinds
}

// NewBeginnings returns an asker without a request.
func NewBeginnings(p *Prober, record *records.Beginnings, changed func(queue.Key)) *Beginnings {
	return &Beginnings{Prober: p, Record: record, Changed: changed, waiting: map[queue.Key]beginning{}, wake: make(chan struct{}, 1)}
}

// Ask requests an answer about all configurations of some kinds that were written until now. It does not wait for the answer.
func (b *Beginnings) Ask(k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, kinds webhookconfig.Kinds) {
	if kinds == (webhookconfig.Kinds{}) {
		return
	}
	b.mutex.Lock()
	b.waiting[k] = beginning{csv, kinds}
	b.mutex.Unlock()
	select {
	case b.wake <- struct{}{}:
	default: // The next round has it.
	}
}

// Run answers requests until the context ends.
func (b *Beginnings) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
			b.round(ctx)
		}
	}
}

// round answers all requests that wait. Any of the ClusterServiceVersions has the marker.
func (b *Beginnings) round(ctx context.Context) {
	b.mutex.Lock()
	round := b.waiting
	b.waiting = map[queue.Key]beginning{}
	b.mutex.Unlock()
	if len(round) == 0 {
		return
	}
	var csv *operatorsv1alpha1.ClusterServiceVersion
	var kinds webhookconfig.Kinds
	for _, one := range round {
		csv, kinds = one.csv, kinds.With(one.kinds)
	}
	b.ask(ctx, csv, kinds)
	for k := range round {
		b.Changed(k)
	}
}

func (b *Beginnings) ask(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, kinds webhookconfig.Kinds) {
	asked := b.Now()
	deployment := lists.First(csvspec.DeploymentNames(csv), func(string) bool { return true })
	found, left := b.Prober.ask(ctx, csv, deployment, kinds, b.Patience())
	if left != nil {
		b.Log.WithError(left).Warn("a canary stays until its ClusterServiceVersion is reconciled again")
	}
	b.Record.Add(kinds, asked, b.Now(), found.Behind, found.Unknown)
}
