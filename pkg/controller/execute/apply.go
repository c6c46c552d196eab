package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// apply stops when an answer contradicts the facts. learned: the next decision need not wait for the caches.
func (r *run) apply(ctx context.Context, plan decide.Plan) (learned bool, err error) {
	var created []drift.Object
	changed := false
	var failed error
	for _, step := range plan.Steps {
		if r.leavesOut(step) {
			continue
		}
		written, existing, err := r.send(ctx, step)
		switch {
		case existing != nil:
			r.learn(decide.Occupied{Step: step, Existing: existing, Services: plan.Services})
			return true, nil
		case write.IsUnanswered(err), write.IsRefused(err):
			r.learnRefusal(step, err)
			return true, nil
		case err == nil:
			r.logWrite(step)
			r.record(step, written)
			if step.Verb == rollout.Create && isRendered(step) {
				created = append(created, written)
			} else {
				changed = changed || isRendered(step)
			}
			continue
		}
		err = fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)
		switch {
		case mirrors(step):
			r.deferred = errors.Join(r.deferred, err)
		case step.Registers():
			failed = errors.Join(failed, err) // the others are written all the same
		default:
			return r.failAt(step, plan, errors.Join(failed, err))
		}
	}
	if failed != nil || changed || len(created) == 0 {
		return false, failed // the caches will show what was changed
	}
	r.learn(decide.Completed{Plan: plan, Created: created, At: r.Now()})
	r.status, r.phases = plan.Status, append(r.phases, plan.Phases...)
	return true, nil
}

// failAt ends the reconciliation, unless the step is of an early stage, and a webhook is open: the webhook may have to be closed, and
// another client could make such a step fail again and again.
func (r *run) failAt(step rollout.Step, plan decide.Plan, err error) (learned bool, failed error) {
	if !plan.Continues || !r.isOpen() {
		return false, err
	}
	r.deferred = errors.Join(r.deferred, err)
	r.learn(decide.Refused{Step: step, Why: err.Error()})
	return true, nil
}

// isOpen reports whether requests pass a webhook that does not answer.
func (r *run) isOpen() bool {
	o := r.facts.Observed
	return slices.ContainsFunc(slices.Concat(drift.Objects(o.Validating), drift.Objects(o.Mutating)), func(registration drift.Object) bool {
		return webhookconfig.OpenState(registration) != managerv1alpha1.FailOpenClosed
	})
}

func (r *run) leavesOut(step rollout.Step) bool {
	return r.executed[step.Key()] == step.Verb || r.refuseChangedRole(step)
}

// refuseChangedRole reports whether a step binds a Role whose rules admission changed in this reconciliation, and records
// that it is not carried out. Plans contain the binding again when the Role has the desired rules.
func (r *run) refuseChangedRole(step rollout.Step) bool {
	binding, ok := step.Object.(*rbacv1.RoleBinding)
	if !ok || step.Verb == rollout.Delete || binding.RoleRef.Kind != "Role" {
		return false
	}
	role := drift.KeyOf(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: binding.Namespace, Name: binding.RoleRef.Name}})
	if r.changedRoles[role] {
		r.learn(decide.Refused{Step: step, Why: fmt.Sprintf("%s is not written: admission changed the rules of %s", step.Key(), role)})
	}
	return r.changedRoles[role]
}

// send sends a step, and counts it unless an existing object kept it from being written.
func (r *run) send(ctx context.Context, step rollout.Step) (written, existing drift.Object, err error) {
	written, existing, err = r.sender.Send(ctx, r.csv.Namespace, step)
	if existing == nil {
		r.Metrics.ObserveWrite(step, err)
	}
	return written, existing, err
}

// isRendered is false for objects of issuers, fields and lifted permissions: the next decision waits for them.
func isRendered(step rollout.Step) bool {
	_, dynamic := step.Object.(*unstructured.Unstructured)
	return !dynamic && step.Fields == nil && !permissions.IsLifted(step.Object)
}

// The next reconciliation repeats this step, which must not keep the status from being written.
func mirrors(step rollout.Step) bool { return step.Verb == rollout.Patch && step.Fields == nil }

// learnRefusal continues without the step, as later ones may make the webhook answer. The reconciliation is retried.
func (r *run) learnRefusal(step rollout.Step, err error) {
	key := step.Key()
	refused := decide.Refused{Step: step, Why: fmt.Sprintf("the API server refuses %s: %v", key, err)}
	var installer *write.InstallerError
	switch {
	case errors.As(err, &installer):
		refused.Why, refused.Forbidden = fmt.Sprintf("%s is not written: %v", key, installer), true
	case write.IsUnanswered(err):
		refused.Why, refused.Unanswered = fmt.Sprintf("a webhook that must review %s does not answer: %v", key, err), true
		if errors.Is(err, write.ErrNoAnswer) {
			refused.Why = fmt.Sprintf("%s is not written: %v", key, err)
		}
		r.deferred = errors.Join(r.deferred, fmt.Errorf("%s %s: %w", step.Verb, key, err))
	case permissions.IsLifted(step.Object):
		refused.Why += ": apply manifests/lift-roles, which lets the manager grant what it does not have"
	case step.Verb == rollout.ResyncVolumes:
		pod := step.Object.(*corev1.Pod)
		r.FieldContests.Resynced(pod, pod, r.Now())
	case step.Fields != nil:
		r.Events.Event(r.csv, corev1.EventTypeWarning, managerv1alpha1.EventNotMarked, err.Error())
	}
	r.learn(refused)
}

func (r *run) logWrite(step rollout.Step) {
	log := r.Log.WithFields(r.key.Fields()).WithField("why", step.Why())
	if webhook, ok := step.Object.GetLabels()[wellknown.LabelWebhookGenerateName]; ok {
		log = log.WithField("webhook", webhook)
	}
	log.WithFields(logrus.Fields{"verb": step.Verb, "object": step.Key()}).Info("write")
}
