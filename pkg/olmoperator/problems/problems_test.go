package problems

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A reconciliation without a change emits no event.
func TestProblemIsReportedOnce(t *testing.T) {
	events := record.NewFakeRecorder(10)
	r := Reporter{Events: events, Reason: "Refused"}
	report := func(name string, problems ...string) {
		r.Report(cache.NewObjectName("shop", name), &corev1.Pod{}, problems)
	}
	report("a", "one")
	report("a", "one", "two", "two")
	report("b", "one")
	report("a", "two")
	report("a", "one", "two")
	r.Forget(cache.NewObjectName("shop", "b"))
	report("b", "one")
	close(events.Events)
	var got []string
	for event := range events.Events {
		got = append(got, event)
	}
	one, two := "Warning Refused one", "Warning Refused two"
	installtest.Same(t, "events", []string{one, two, one, one, one}, got)
}
