package failopen

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The clock goes back while the webhook is open. The record has the time until it was last observed open.
func TestClockGoesBackWhileOpen(t *testing.T) {
	for name, back := range map[string]time.Duration{"2 minutes": 2 * time.Minute, "55 minutes": 55 * time.Minute, "2 hours": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(55 * time.Minute)
			installtest.Same(t, "open", all, w.live)
			open := w.now
			w.now = w.now.Add(-back)
			w.becomes(Serves)
			installtest.Same(t, "closed", closed, w.live)
			o := w.record.Openings[0]
			installtest.Same(t, "the end is before the last time at which it was open", false, o.Until.Time.Before(open))
			installtest.Same(t, "open seconds", 50*60+1, w.record.OpenSeconds)
		})
	}
}

// Between two decisions, the clock goes back. The time that the process has measured is the length of the record.
func TestMeasuredTimeIsRecorded(t *testing.T) {
	began := time.Now() //nolint:forbidigo // only it has a monotonic time
	from := metav1.NewTime(began.Add(time.Hour).Truncate(time.Second))
	opening := managerv1alpha1.Opening{From: from, Requests: "nodes"}
	w := newWebhook(t)
	w.record = &managerv1alpha1.FailOpen{State: partly, Openings: []managerv1alpha1.Opening{opening}}
	w.memory = Memory{Opened: began, Openings: []managerv1alpha1.Opening{opening}}
	w.live, w.now, w.backend = partly, began.Add(50*time.Minute), Serves
	w.reconcile()
	installtest.Same(t, "closed", closed, w.live)
	installtest.Same(t, "the length of the opening", 50*time.Minute, w.record.Openings[0].Until.Sub(from.Time))
}

// What was open in the time that the clock repeats counts for the limit.
func TestLimitAfterTheClockWentBack(t *testing.T) {
	w := newWebhook(t)
	w.settings.AllAfter = 0
	w.becomes(Unreachable)
	w.pass(55 * time.Minute)
	w.now = w.now.Add(-50 * time.Minute)
	w.becomes(Serves)
	installtest.Same(t, "open seconds", 50*60+1, w.record.OpenSeconds)
	w.becomes(Unreachable)
	w.pass(30 * time.Minute)
	installtest.Same(t, "open seconds of both", 60*60+1, w.record.OpenSeconds)
	installtest.Same(t, "the number of openings", 2, len(w.record.Openings))
	installtest.Same(t, "after the limit", closed, w.live)
}
