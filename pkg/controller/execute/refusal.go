package execute

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// recordRefusal records that the API server did not accept a step. The reconciliation continues
// without it. If the reason is a webhook that does not answer, a later step may be what makes it
// answer. The reconciliation then fails at its end, and is retried as any other that fails.
func (e *Executor) recordRefusal(s *gather.Snapshot, step rollout.Step, err error) {
	key := step.Key()
	switch {
	case write.IsUnanswered(err):
		s.Observed.Refused[key] = fmt.Sprintf("a webhook that must review %s does not answer: %v", key, err)
		s.Observed.Unanswered[key] = true
		s.Deferred = errors.Join(s.Deferred, fmt.Errorf("%s %s: %w", step.Verb, key, err))
	case permissions.IsLifted(step.Object):
		s.NotLift(key, fmt.Sprintf("the API server refuses %s: %v: apply manifests/lift-roles, which lets the manager grant what it does not have", key, err))
	default:
		s.Observed.Refused[key] = fmt.Sprintf("the API server refuses %s: %v", key, err)
		if step.Fields != nil {
			e.Events.Event(s.CSV, corev1.EventTypeWarning, managerv1alpha1.EventNotMarked, err.Error())
		}
	}
}
