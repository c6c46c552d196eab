package write

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Status writes statuses that other clients may write, too.
type Status struct {
	FieldContests *records.FieldContests
	Events        record.EventRecorder
	Writes        *informers.Expectations
	Now           func() time.Time
}

// Write returns when it may send a status that another client has changed back too often.
func (s *Status) Write(k queue.Key, object records.FieldObject, fields map[string]string, regarding drift.Object, send func() (drift.Object, error)) (written bool, requeue rollout.Requeue, err error) {
	if held, until, why := s.FieldContests.Held(object, fields, s.Now()); len(held) > 0 {
		return false, rollout.Requeue{At: until, Reason: why}, nil
	}
	sent, err := send()
	if err != nil {
		return false, rollout.Requeue{}, err
	}
	s.FieldContests.Wrote(object, fields, s.Now())
	if contest, _ := s.FieldContests.Contest(object); contest.Repairs.Contested() {
		s.Events.Event(regarding, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Repairs.Message(object.Title, s.Now()))
	}
	s.Writes.Add(k, informers.Write{Object: sent, At: s.Now()})
	return true, rollout.Requeue{}, nil
}
