package prober

import (
	"context"
	"sync"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
)

// Beginnings asks API servers what they have observed of new registrations. One marker serves all ClusterServiceVersions that wait
// at the same time.
type Beginnings struct {
	*Prober
	// Record has the answers, for reconciliations. Changed adds the key of a ClusterServiceVersion that waited for one.
	Record  *records.Beginnings
	Changed func(queue.Key)
	// Installed returns a ClusterServiceVersion that can have a marker; nil if it, or its Namespace, is being deleted.
	Installed func(queue.Key) *operatorsv1alpha1.ClusterServiceVersion

	mutex   sync.Mutex
	waiting map[queue.Key]webhookconfig.Kinds
	wake    chan struct{}

	left []markers // that could not be removed
	// unusable are the namespaces in which API servers could not be asked, while they could in another one.
	unusable map[string]bool
}

// NewBeginnings returns an asker without a request.
func NewBeginnings(p *Prober, record *records.Beginnings, installed func(queue.Key) *operatorsv1alpha1.ClusterServiceVersion, changed func(queue.Key)) *Beginnings {
	return &Beginnings{
		Prober: p, Record: record, Installed: installed, Changed: changed,
		waiting: map[queue.Key]webhookconfig.Kinds{}, wake: make(chan struct{}, 1), unusable: map[string]bool{},
	}
}

// Ask requests an answer about all configurations of some kinds that were written until now. It does not wait for the answer.
func (b *Beginnings) Ask(k queue.Key, kinds webhookconfig.Kinds) {
	if kinds == (webhookconfig.Kinds{}) {
		return
	}
	b.mutex.Lock()
	b.waiting[k] = kinds
	b.mutex.Unlock()
	b.startRound()
}

func (b *Beginnings) startRound() {
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

// round answers all requests that wait.
func (b *Beginnings) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ReconcileTimeout)
	defer cancel()
	b.removeLeft(ctx)
	b.mutex.Lock()
	round := b.waiting
	b.waiting = map[queue.Key]webhookconfig.Kinds{}
	b.mutex.Unlock()
	var kinds webhookconfig.Kinds
	var csvs []*operatorsv1alpha1.ClusterServiceVersion
	for k, some := range round {
		if csv := b.Installed(k); csv != nil {
			csvs, kinds = append(csvs, csv), kinds.With(some)
		}
	}
	if len(csvs) > 0 {
		b.ask(ctx, csvs, kinds)
	}
	for k := range round {
		b.Changed(k)
	}
	if len(b.left) > 0 {
		time.AfterFunc(removePause, b.startRound)
	}
}

// removePause is the pause before markers that could not be removed are deleted.
const removePause = 10 * time.Second

// ask asks in the namespace of one ClusterServiceVersion, which has the marker. A quota, a webhook or a deletion there can keep API
// servers from answering: then it asks in another namespace, once.
func (b *Beginnings) ask(ctx context.Context, csvs []*operatorsv1alpha1.ClusterServiceVersion, kinds webhookconfig.Kinds) {
	asked := b.Now()
	first := b.choose(csvs, "")
	answer := b.askIn(ctx, first, kinds)
	if second := b.choose(csvs, first.Namespace); second != nil && (answer.Unknown != "" || answer.gone && len(answer.Behind) > 0) {
		asked = b.Now()
		answer = b.askIn(ctx, second, kinds)
		if answer.Unknown == "" {
			b.unusable[first.Namespace] = true
		}
	}
	b.Record.Add(kinds, asked, b.Now(), answer.Behind, answer.Unknown)
}

// choose prefers a namespace in which API servers could be asked, and does not choose one; nil if there is no other.
func (b *Beginnings) choose(csvs []*operatorsv1alpha1.ClusterServiceVersion, not string) (chosen *operatorsv1alpha1.ClusterServiceVersion) {
	for _, csv := range csvs {
		if csv.Namespace != not && (chosen == nil || b.unusable[chosen.Namespace]) {
			chosen = csv
		}
	}
	return chosen
}

func (b *Beginnings) askIn(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, kinds webhookconfig.Kinds) answer {
	answer := b.Prober.ask(ctx, csv, firstDeployment(csv), kinds, b.Patience())
	if answer.left != nil {
		b.Log.WithError(answer.left).Warn("a canary stays until the API server deletes it: the manager tries again")
		b.left = append(b.left, answer.markers)
	} else if answer.Unknown == "" {
		delete(b.unusable, csv.Namespace)
	}
	return answer
}

// removeLeft deletes markers that could not be removed: their ClusterServiceVersion may not exist any more.
func (b *Beginnings) removeLeft(ctx context.Context) {
	var left []markers
	for _, m := range b.left {
		if _, err := b.remove(ctx, m); err != nil {
			left = append(left, m)
		}
	}
	b.left = left
}
