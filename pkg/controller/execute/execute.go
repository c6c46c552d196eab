// Package execute carries out plans, and answers their questions.
package execute

import (
	"context"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
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
	Certificates  certs.Policy
	Caches        *informers.Caches
	Contested     *records.FieldContests
	CreationTimes *records.CreationTimes
	Events        record.EventRecorder
	Foreign       *informers.OnDemand
	Log           *logrus.Entry
	Metrics       *metrics.Metrics
	Now           func() time.Time
	Processors    Processors
	Repairs       *records.Repairs
	RotationSlots *records.RotationSlots
	Writes        *informers.Expectations
	Live          *live.Reader
	Prober        *prober.Prober
	Writer        *write.Writer
}

// decide returns the plan that the facts lead to. It answers the questions that must be answered first.
func (e *Executor) decide(ctx context.Context, s *gather.Snapshot, now time.Time) (decide.Plan, error) {
	s.Answers = decide.Answers{
		Rotations: map[string]int{}, Trust: map[string]decide.Trust{}, Evidence: map[string]decide.Evidence{},
		Targets: map[types.NamespacedName]string{}, Objects: map[decide.ObjectKey]decide.Object{},
	}
	for {
		plan, err := e.decideOnce(s.Facts, now)
		switch {
		case err != nil:
			return plan, err
		case plan.Stale:
			return plan, informers.ErrStale
		case plan.Continues, len(plan.Questions) == 0:
			s.Facts = plan.Facts
			return plan, nil
		}
		for _, question := range plan.Questions {
			if err := e.answer(ctx, s, question, now); err != nil {
				return decide.Plan{}, err
			}
		}
	}
}

// decideOnce renders and compares, which takes a processor and memory.
func (e *Executor) decideOnce(facts decide.Facts, now time.Time) (decide.Plan, error) {
	defer e.Processors.take()()
	return decide.Decide(facts, now)
}

// Run decides and applies until there is nothing left to learn in this pass: a
// decision may ask for endpoints to be dialled, and the API server's answer to a
// write may be something that the caches did not show. Objects that this pass created count as
// cached, so the next decision of the same pass follows from them.
func (e *Executor) Run(ctx context.Context, k queue.Key, s *gather.Snapshot) (rollout.Plan, error) {
	begun := s.CSV
	var walked []phase.Phase
	for {
		decided, err := e.decide(ctx, s, e.Now())
		plan := decided.Plan
		if err != nil {
			return plan, err
		}
		if e.dryRun(ctx, s, plan.Steps) {
			continue // what admission changed needs no write
		}
		disowned, err := e.isOrphaned(ctx, s.CSV, plan.Steps)
		if err != nil {
			return plan, err
		}
		if disowned {
			return plan, informers.ErrStale
		}
		result, err := e.apply(ctx, k, s, plan.Steps)
		if err != nil {
			return plan, err
		}
		if decided.Continues {
			begun = s.CSV
			continue
		}
		if len(plan.Probes) > 0 {
			e.Prober.ProbeEndpoints(ctx, s, plan.Probes)
		}
		if len(plan.Count) > 0 {
			e.Live.CountObjects(ctx, s.Observed.CRDs, plan.Count, s.Observed.ObjectCounts)
		}
		switch {
		case result == created:
			walked = append(walked, plan.Phases...)
			assumeReported(s, plan, e.Now())
		case result == applied && len(plan.Probes) == 0 && len(plan.Count) == 0:
			s.CSV, plan.Phases = begun, append(walked, plan.Phases...)
			e.reportNotLifted(s)
			return plan, nil
		}
	}
}

// assumeReported takes what a plan reports as reported, though it is not written yet.
func assumeReported(s *gather.Snapshot, plan rollout.Plan, now time.Time) {
	csv, at := *s.CSV, metav1.NewTime(now)
	csv.Status = *s.CSV.Status.DeepCopy()
	for _, p := range plan.Phases {
		csv.SetPhase(p.Phase, p.Reason, p.Message, &at)
	}
	s.CSV, s.Status = &csv, plan.Status
}

// Processors are places to render and compare in, as many as can be used at once. More passes
// than that would only hold in memory what they have made while they wait for a processor; and
// with each pass done in one go, fewer are needed.
type Processors chan struct{}

// NewProcessors returns one place for each processor.
func NewProcessors() Processors { return make(Processors, runtime.GOMAXPROCS(0)) }

// take waits for a free place, which the caller keeps until it calls free.
func (p Processors) take() (free func()) {
	p <- struct{}{}
	return func() { <-p }
}
