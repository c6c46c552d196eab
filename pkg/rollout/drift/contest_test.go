package drift

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestContestRecord(t *testing.T) {
	by := func(manager, field string) Drift { return Drift{By: manager, Fields: []string{field}} }
	for name, test := range map[string]struct {
		repairs       map[time.Duration]Drift
		at            time.Duration
		wantContested bool
		wantBlocked   bool // the repair of a change by the adversary
		wantReported  bool // in the condition, too slow for a contest
	}{
		"two in a minute": {repairs: map[time.Duration]Drift{0: by("adversary", "x"), time.Second: by("adversary", "x")}, at: 2 * time.Second},
		"three in a minute": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), time.Second: by("adversary", "x"), time.Minute: by("adversary", "x")},
			at:      61 * time.Second, wantContested: true, wantBlocked: true,
		},
		"three in more than a minute": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), 50 * time.Second: by("adversary", "x"), 100 * time.Second: by("adversary", "x")},
			at:      101 * time.Second, wantReported: true,
		},
		"one each ninety seconds": {
			repairs: map[time.Duration]Drift{
				0: by("adversary", "x"), 90 * time.Second: by("adversary", "x"), 180 * time.Second: by("adversary", "x"),
				270 * time.Second: by("adversary", "x"), 360 * time.Second: by("adversary", "x"),
			},
			at: 361 * time.Second, wantReported: true,
		},
		"three in ten minutes": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), 5 * time.Minute: by("adversary", "x"), 10 * time.Minute: by("adversary", "x")},
			at:      20*time.Minute - time.Second, wantReported: true,
		},
		"three in ten minutes, the latest lasts for ten more": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), 5 * time.Minute: by("adversary", "x"), 10 * time.Minute: by("adversary", "x")},
			at:      20 * time.Minute,
		},
		"three in more than ten minutes": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), 5 * time.Minute: by("adversary", "x"), 10*time.Minute + time.Second: by("adversary", "x")},
			at:      11 * time.Minute,
		},
		"one each two minutes by different clients": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), 2 * time.Minute: by("other", "x"), 4 * time.Minute: by("adversary", "x"), 6 * time.Minute: by("other", "x")},
			at:      7 * time.Minute,
		},
		"a contest that is over": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), time.Second: by("adversary", "x"), 2 * time.Second: by("adversary", "x"), 5 * time.Minute: by("adversary", "x")},
			at:      6 * time.Minute,
		},
		"three by different clients": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), time.Second: by("kubectl-edit", "x"), 2 * time.Second: by("adversary", "x")},
			at:      3 * time.Second,
		},
		"two clients in turn": {
			repairs: map[time.Duration]Drift{
				0: by("adversary", "x"), time.Second: by("other", "x"), 2 * time.Second: by("adversary", "x"), 3 * time.Second: by("other", "x"), 4 * time.Second: by("adversary", "x"),
			},
			at: 5 * time.Second, wantContested: true, wantBlocked: true,
		},
		"three by another client": {
			repairs: map[time.Duration]Drift{0: by("kubectl-edit", "x"), time.Second: by("kubectl-edit", "x"), 2 * time.Second: by("kubectl-edit", "x")},
			at:      3 * time.Second, wantContested: true,
		},
		"three, and the pause is over": {
			repairs: map[time.Duration]Drift{0: by("adversary", "x"), time.Second: by("adversary", "x"), 2 * time.Second: by("adversary", "x")},
			at:      62 * time.Second, wantContested: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var contest Contest
			for at := time.Duration(0); at <= test.at; at += time.Second {
				if drift, repaired := test.repairs[at]; repaired {
					contest = contest.Repaired(drift, noon.Add(at))
				}
			}
			now := noon.Add(test.at)
			installtest.Same(t, "contested", test.wantContested, contest.Contested())
			installtest.Same(t, "reported", test.wantReported, contest.Report("key", now) != contest.Message("key", now))
			desired, live := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
			installtest.Same(t, "blocked", test.wantBlocked, contest.Blocks(desired, live, by("adversary", "x"), now))
		})
	}
}

// Conflicts begin a contest, as repairs do. It pauses creations, and neither repairs nor deletions of others.
func TestContestOfConflicts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	contest := Contest{}
	for range 3 {
		contest = contest.Repaired(Drift{By: ByConflict}, now)
	}
	const what, remedy = "PodDisruptionBudget x: other clients keep creating and deleting PodDisruptionBudgets for its pods; ",
		". Stop these clients, or remove annotation olm-webhook-manager.io/availability-disruption-budget"
	installtest.Same(t, "in the pause", what+"the manager creates it again at 2026-03-01T12:01:00Z"+remedy, contest.Message("PodDisruptionBudget x", now))
	later := now.Add(90 * time.Second)
	installtest.Same(t, "after it", what+"the latest conflict was at 2026-03-01T12:00:00Z; this message is removed at 2026-03-01T12:02:00Z without another one"+remedy, contest.Message("PodDisruptionBudget x", later))
	installtest.Same(t, "the end of the pause", now.Add(time.Minute), contest.BlockedUntil(now))
	budget := &policyv1.PodDisruptionBudget{}
	installtest.Same(t, "repairs are paused", false, contest.Blocks(budget, budget, Drift{By: "other"}, now))
}
