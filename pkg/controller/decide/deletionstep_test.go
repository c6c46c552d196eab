package decide

import (
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
)

func TestDeletion(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	const settle = time.Second
	wait := func(ended time.Time, changes ...func(*ending.Wait)) *ending.Wait {
		w := &ending.Wait{Ended: ended, Settle: settle}
		for _, change := range changes {
			change(w)
		}
		return w
	}
	observed := func(w *ending.Wait) { w.Found = &ending.Found{At: now} }
	for name, test := range map[string]struct {
		deletion Deletion
		want     DeletionStep
	}{
		"nothing was registered":                  {Deletion{}, RemoveFinalizer},
		"just unregistered":                       {Deletion{Wait: wait(now)}, AwaitAPIServers},
		"the settle time is over":                 {Deletion{Wait: wait(now.Add(-settle))}, AskAboutEnd},
		"each API server has observed it":         {Deletion{Wait: wait(now.Add(-settle), observed)}, RemoveFinalizer},
		"conversion in use":                       {Deletion{InUse: true, Wait: wait(now)}, ReportBlocked},
		"refused":                                 {Deletion{Refused: true, ByNamespace: true}, ReportBlocked},
		"its Namespace deletes it later":          {Deletion{ByNamespace: true, Wait: wait(now)}, AwaitDeletionTimestamp},
		"its Namespace, and a conversion is used": {Deletion{ByNamespace: true, InUse: true}, ReportBlocked},
	} {
		got, requeue := test.deletion.Next(now)
		if got != test.want || requeue.Never() == (got == AwaitAPIServers) {
			t.Errorf("%s: step %d, requeued at %s, want step %d", name, got, requeue.At, test.want)
		}
	}
}

// A newer version continues conversions. An older one without a backend does not.
func TestConverters(t *testing.T) {
	older, newer := installtest.Operator(nil), installtest.Operator(nil)
	relatives := lineage.Lineage{Older: []*operatorsv1alpha1.ClusterServiceVersion{older}, Newer: []*operatorsv1alpha1.ClusterServiceVersion{newer}}
	if got := Converters(relatives, owners.Backends{}); len(got) != 1 || got[0] != newer {
		t.Errorf("%d versions continue conversions, want the newer one alone", len(got))
	}
}
