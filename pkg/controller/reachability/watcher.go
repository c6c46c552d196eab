// Package reachability reads the metrics of API servers, and reports which registered webhooks their calls do not reach.
package reachability

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/reachability"
)

// Watcher reads the metrics of API servers while a webhook is registered.
type Watcher struct {
	clients.Set
	// Interval is the time between two rounds of requests; 0 for none.
	Interval time.Duration
	// APIServers finds the API servers of the cluster.
	APIServers func(context.Context) prober.Servers
	// Rollouts returns the WebhookRollouts of the manager.
	Rollouts func() []*managerv1alpha1.WebhookRollout
	// Record has the last report, for reconciliations. Changed adds the key of one that the report changes.
	Record  *records.Calls
	Changed func(queue.Key)
	Now     func() time.Time
	Log     *logrus.Entry

	last atomic.Pointer[calls.Observation]
}

// Start reports that no call is known to fail if API servers are not read. It precedes the first reconciliation.
func (w *Watcher) Start() {
	if w.Interval == 0 {
		w.Record.Set(calls.Report{Complete: true})
	}
}

// Run reads the metrics in each interval until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	if w.Interval > 0 {
		wait.NonSlidingUntilWithContext(ctx, w.round, w.Interval)
	}
}

// Last returns what is known about the calls of API servers.
func (w *Watcher) Last() calls.Observation {
	if last := w.last.Load(); last != nil {
		return *last
	}
	return calls.Observation{}
}

// readTime is how long API servers may take to return their metrics: one that does not answer delays the report about others.
const readTime = 10 * time.Second

// round reads the metrics once. A round that takes longer than the interval is followed by the next one at once.
func (w *Watcher) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	rollouts := w.Rollouts()
	known := knownIn(rollouts)
	var observed calls.Observation
	if len(known) > 0 {
		readings := read(ctx, w.APIServers(ctx), known)
		observed = w.Last().Next(w.policy(), readings, known, w.Now())
	}
	configurations, err := w.configurations(ctx, observed)
	if err != nil {
		w.Log.WithError(err).Warn("the configurations of webhooks cannot be listed, so calls that fail are not attributed to webhooks")
		return
	}
	observed = observed.Attributed(configurations)
	w.last.Store(&observed)
	w.report(observed.Report(w.policy(), w.Now()), rollouts)
}

func (w *Watcher) policy() calls.Policy { return calls.Policy{Interval: w.Interval} }

// knownIn returns the registered webhooks, with the failures that their status reports.
func knownIn(rollouts []*managerv1alpha1.WebhookRollout) calls.Known {
	known := calls.Known{}
	for _, r := range rollouts {
		for webhook, status := range reachability.Called(r.Status) {
			if known[webhook] == nil {
				known[webhook] = map[string]*calls.Failure{}
			}
			for _, from := range status.UnreachableFrom {
				known[webhook][from.APIServer] = &calls.Failure{Error: from.Error, Since: from.StartTime.Time}
			}
		}
	}
	return known
}

// report records a report, and adds the keys of the ClusterServiceVersions whose status it changes.
func (w *Watcher) report(r calls.Report, rollouts []*managerv1alpha1.WebhookRollout) {
	before := w.Record.Last()
	w.Record.Set(r)
	for _, rollout := range rollouts {
		called := reachability.Called(rollout.Status)
		if len(called) > 0 && r.Differs(before, slices.Collect(maps.Keys(called))) || !before.Complete && reachability.Reports(rollout.Status) {
			w.Changed(queue.CSVKey(rollout.Namespace, rollout.Name))
		}
	}
}
