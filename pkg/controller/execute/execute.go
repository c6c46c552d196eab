// Package execute carries out plans, and answers their questions.
package execute

import (
	"context"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// Executor carries out plans and answers their questions.
type Executor struct {
	clients.Set
	*records.Records
	Rotations  int // that may run at once
	Caches     *informers.Caches
	OnDemand   *informers.OnDemand
	Writes     *informers.Expectations
	Events     record.EventRecorder
	Log        *logrus.Entry
	Metrics    *metrics.Metrics
	Now        func() time.Time
	Processors Processors
	Exists     func(owner string) bool // see versions.Index
	Live       *live.Reader
	Prober     *prober.Prober
	Writer     *write.Writer
}

// Outcome is the last plan of a reconciliation, with the phases of all of its plans.
type Outcome struct {
	decide.Plan
	// CSV is the ClusterServiceVersion with the metadata that was written.
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Deferred is the error of writes that do not keep the status from being written.
	Deferred error
}

// Run decides and executes until nothing new is learned: what follows from a creation need not wait for the caches. With an
// error, the Outcome has the last decisions about openings of webhooks, and nothing else.
func (e *Executor) Run(ctx context.Context, k queue.Key, facts decide.Facts) (Outcome, error) {
	r := &run{
		Executor: e, key: k, facts: facts, csv: facts.CSV, status: facts.Status,
		dryRuns: map[string]bool{}, executed: map[string]rollout.Verb{}, changedRoles: map[string]bool{},
		sender: &write.Sender{Writer: e.Writer, CSV: records.NameOf(facts.CSV), Installer: facts.Installer},
	}
	var decided Outcome
	for ctx.Err() == nil {
		plan, err := r.nextPlan(ctx, e.Now())
		if err != nil {
			return decided, err
		}
		if plan.FailOpen != nil {
			decided.FailOpen = plan.FailOpen
		}
		learned, err := r.execute(ctx, plan)
		if err != nil {
			return decided, err
		}
		if !learned {
			plan.Phases = append(r.phases, plan.Phases...)
			r.reportNotLifted(plan.NotLifted)
			return Outcome{plan, r.csv, r.deferred}, nil
		}
	}
	return decided, ctx.Err()
}

type run struct {
	*Executor
	key     queue.Key
	facts   decide.Facts
	results decide.Results

	csv          *operatorsv1alpha1.ClusterServiceVersion // with the metadata that was written
	status       managerv1alpha1.WebhookRolloutStatus     // recorded, or of the last completed plan
	phases       []phase.Phase                            // of completed plans
	dryRuns      map[string]bool                          // by key of the object
	executed     map[string]rollout.Verb                  // steps for issuers and operators, by key of the object
	changedRoles map[string]bool                          // Roles whose rules admission changed, by key
	deferred     error
	sender       *write.Sender
}

func (r *run) learn(result ...decide.Result) {
	r.results.Learned = append(r.results.Learned, result...)
}

// nextPlan answers the questions that must be answered first.
func (r *run) nextPlan(ctx context.Context, now time.Time) (decide.Plan, error) {
	r.results.Answers = decide.NewAnswers()
	for {
		plan, err := r.decideOnProcessor(now)
		switch {
		case err != nil:
			return plan, err
		case plan.Stale:
			return plan, informers.ErrStale
		case len(plan.Questions) == 0:
			r.learn(plan.Learned...)
			return plan, nil
		}
		for _, question := range plan.Questions {
			if err := r.answer(ctx, question, now); err != nil {
				return decide.Plan{}, err
			}
		}
	}
}

// decideOnProcessor frees the processor also when the code panics.
func (r *run) decideOnProcessor(now time.Time) (decide.Plan, error) {
	defer r.Processors.take()()
	return decide.Decide(r.facts, r.results, now)
}

// execute carries out a plan, and reports whether its results may lead to another plan.
func (r *run) execute(ctx context.Context, plan decide.Plan) (learned bool, err error) {
	if r.dryRun(ctx, plan.Steps) {
		return true, nil // what admission changed needs no write
	}
	if err := r.refuseOrphaned(ctx, plan.Steps); err != nil {
		return false, err
	}
	applied, err := r.apply(ctx, plan)
	if err != nil || plan.Continues {
		return true, err
	}
	if len(plan.Probes) > 0 {
		r.learn(r.Prober.ProbeEndpoints(ctx, r.csv, plan.Probes, func(deployment string) []byte {
			return decide.CABundleOf(plan.Services[deployment], r.facts, r.results, r.Now())
		}))
	}
	if len(plan.Count) > 0 {
		counted := decide.Counted{}
		r.Live.CountObjects(ctx, r.facts.Observed.CRDs, plan.Count, counted)
		r.learn(counted)
	}
	if len(plan.Confirm) > 0 {
		confirmed, err := r.Live.EndpointSlices(ctx, r.csv.Namespace, plan.Confirm, r.Now)
		if err != nil {
			return false, err
		}
		r.learn(confirmed)
	}
	if plan.AskAPIServers {
		found, err := r.Prober.HaveObserved(ctx, r.csv, webhookconfig.Kinds{Validating: true, Mutating: true}, r.patience())
		if err != nil {
			return false, err
		}
		r.learn(decide.HaveObserved(found))
	}
	return applied || len(plan.Probes) > 0 || len(plan.Count) > 0 || len(plan.Confirm) > 0 || plan.AskAPIServers, nil
}

// Processors limits concurrent rendering to what can run at once. More would only hold memory while they wait.
type Processors chan struct{}

// NewProcessors returns one slot for each processor.
func NewProcessors() Processors { return make(Processors, runtime.GOMAXPROCS(0)) }

// take waits for a free slot, which the caller keeps until it calls free.
func (p Processors) take() (free func()) {
	p <- struct{}{}
	return func() { <-p }
}
