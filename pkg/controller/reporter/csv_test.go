package reporter

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// A status that is not written because of a contest is written after the pause, also if no plan
// requests that, as for a replaced version, and the other client writes nothing more.
func TestContestedStatusIsWrittenLater(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "1"}}
	written := csv.DeepCopy()
	csvstatus.Set(written, phase.Replaced.Phase, phase.Replaced.Reason, "replaced", metav1.NewTime(now))
	var contests records.FieldContests
	for range 4 {
		contests.Wrote(records.FieldObjectOf(operatorsv1alpha1.ClusterServiceVersionKind, csv), records.CSVStatusFields(written.Status), now)
	}
	r := Reporter{Status: &write.Status{FieldContests: &contests, Now: func() time.Time { return now }}}
	replaced := phase.Replaced
	replaced.Message = "replaced"
	requeue, err := r.UpdateCSV(t.Context(), queue.CSVKey("shop", "shop.v1"), csv, []phase.Phase{replaced})
	if after := requeue.At.Sub(now); err != nil || after <= 0 || after > 10*time.Minute {
		t.Errorf("it is written after %s (%s), %v", after, requeue.Reason, err)
	}
}
