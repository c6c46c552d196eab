package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// outcome is what the execution of steps means for the facts.
type outcome int

const (
	applied   outcome = iota // the caches will show what was written
	corrected                // an answer contradicts the facts: the other steps are not executed
	created                  // all absent objects exist now
)

// apply executes steps in their order, until an answer contradicts the facts.
func (e *Executor) apply(ctx context.Context, k queue.Key, s *gather.Snapshot, steps []rollout.Step) (outcome, error) {
	var fresh []drift.Object
	changed := false
	var failed error
	for _, step := range due(s, steps) {
		written, existing, err := e.Writer.Send(ctx, s.CSV.Namespace, step)
		e.Metrics.ObserveWrite(step, err)
		switch {
		case existing != nil:
			s.LearnExisting(step, existing)
			return corrected, nil
		case write.IsUnanswered(err), write.IsRefused(err):
			e.recordRefusal(s, step, err)
			return corrected, nil
		case err != nil && mirrors(step):
			s.Deferred = errors.Join(s.Deferred, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err))
			continue
		case err != nil && step.Registers():
			failed = errors.Join(failed, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)) // the others are written all the same
			continue
		case err != nil:
			return applied, errors.Join(failed, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err))
		}
		e.logWrite(k, step)
		if e.recordUnrendered(k, s, step, written) {
			continue
		}
		if step.Verb == rollout.Create {
			fresh = append(fresh, written)
		} else {
			changed = true
		}
		e.record(k, s, step, written)
	}
	if failed != nil || changed || len(fresh) == 0 {
		return applied, failed // the caches will show what was changed
	}
	for _, o := range fresh {
		s.Learn(o)
		s.Observed.JustCreated[drift.KeyOf(o)] = true
	}
	return created, nil
}

// recordUnrendered records a step whose object is not rendered. It returns false for any other step.
func (e *Executor) recordUnrendered(k queue.Key, s *gather.Snapshot, step rollout.Step, written drift.Object) bool {
	_, dynamic := written.(*unstructured.Unstructured)
	switch {
	case dynamic:
		e.recordIssuance(s, step, written)
	case step.Fields != nil:
		e.recordFields(k, s, step, written)
	case permissions.IsLifted(step.Object):
		e.record(k, s, step, written)
		s.RecordLifted(step, written)
	default:
		return false
	}
	return true
}

// due are the steps without those for an issuer that were carried out in this pass.
func due(s *gather.Snapshot, steps []rollout.Step) []rollout.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(step rollout.Step) bool { return s.Written[step.Key()] == step.Verb })
}

// mirrors reports whether a step copies the conditions of an OperatorCondition. The next reconciliation
// repeats it: it must not keep the status from being written.
func mirrors(step rollout.Step) bool { return step.Verb == rollout.Patch && step.Fields == nil }

// recordIssuance remembers a step for an issuer. The caches that show it are others than those of the pass: at worst
// the next pass repeats it.
func (e *Executor) recordIssuance(s *gather.Snapshot, step rollout.Step, written drift.Object) {
	s.Written[step.Key()] = step.Verb
	e.recordWrite(s, step, written)
}

// record records a write for decisions and reconciliations before the caches show it.
func (e *Executor) record(k queue.Key, s *gather.Snapshot, step rollout.Step, written drift.Object) {
	if secret, ok := written.(*corev1.Secret); ok {
		s.Secrets[secret.Name] = secret
		if step.Verb == rollout.Delete {
			s.Secrets[secret.Name] = nil
		}
	}
	e.Writes.Add(k, informers.Write{Object: written, Changed: step.Live != nil, Deleted: step.Verb == rollout.Delete, At: e.Now()})
	e.recordWrite(s, step, written)
	if step.Verb == rollout.Create {
		e.recordCreation(s, written)
	}
}

// recordWrite records the result of a write. It counts a repair if another client reverted the previous
// write, or if admission changed what it must not change.
func (e *Executor) recordWrite(s *gather.Snapshot, step rollout.Step, written drift.Object) {
	csv, object := records.NameOf(s.CSV), step.Key()
	switch {
	case step.Verb == rollout.Delete:
		e.Repairs.Deleted(csv, object)
		delete(s.Observed.Writes, object)
	case step.Desired != nil:
		write := drift.WriteOf(step.Desired, written)
		e.Repairs.Wrote(csv, object, write)
		s.Observed.Writes[object] = write
		if change, refused := write.Refused(); refused {
			e.Repairs.Repaired(csv, object, change, e.Now())
			return
		}
	}
	if step.Repairs(s.Status, s.Observed.Contests) {
		e.Repairs.Repaired(csv, object, step.Drift, e.Now())
	}
}

// recordCreation remembers when a registration was made.
func (e *Executor) recordCreation(s *gather.Snapshot, written drift.Object) {
	if drift.IsRegistration(written) {
		now := e.Now()
		s.Observed.CreationTimes[written.GetUID()] = now
		e.CreationTimes.Add(written, now)
	}
}

// logWrite logs a step that was carried out.
func (e *Executor) logWrite(k queue.Key, step rollout.Step) {
	log := e.Log.WithFields(k.Fields()).WithField("why", step.Why())
	if webhook, ok := step.Object.GetLabels()[wellknown.LabelWebhookGenerateName]; ok {
		log = log.WithField("webhook", webhook)
	}
	log.Infof("%s %s", step.Verb, step.Key())
}
