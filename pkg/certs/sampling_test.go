package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A call through the Service is made only if its result is conclusive.
func TestSampling(t *testing.T) {
	const few, same = "there are more than 8 of them", "they succeed with the previous certificate as well"
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
	shares := promoted.edited("previous-ca.crt", nil)
	for name, test := range map[string]struct {
		secret       storedSecret
		grace        time.Duration
		waited       time.Duration
		unsampled    string
		worthwhile   bool
		inconclusive string
	}{
		"all endpoints":                        {secret: promoted, worthwhile: true},
		"all endpoints, after a day":           {secret: promoted, waited: day, worthwhile: true},
		"some endpoints":                       {secret: promoted, unsampled: few, worthwhile: true, inconclusive: few},
		"some endpoints, before ten minutes":   {secret: promoted, waited: 10*time.Minute - 1, unsampled: few, worthwhile: true, inconclusive: few},
		"some endpoints, after ten minutes":    {secret: promoted, waited: 10 * time.Minute, unsampled: few, inconclusive: few},
		"some endpoints, in the grace time":    {secret: promoted, grace: 10 * time.Minute, waited: 20*time.Minute - 1, unsampled: few, worthwhile: true, inconclusive: few},
		"some endpoints, after the grace time": {secret: promoted, grace: 10 * time.Minute, waited: 20 * time.Minute, unsampled: few, inconclusive: few},
		"same CA":                              {secret: shares, inconclusive: same},
		"same CA, some endpoints":              {secret: shares, unsampled: few, inconclusive: same},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultPolicy()
			if test.grace > 0 {
				p.Grace = test.grace
			}
			f := Facts{Secret: test.secret.Secret, Names: names, Registrations: []Registration{trusting(second, first)}}
			got := Decide(f, p, after(due+test.waited)).Serving.Sampling(test.unsampled)
			installtest.Same(t, "sampling", Sampling{test.worthwhile, test.inconclusive}, got)
		})
	}
}

// The interval grows with the wait, and is longer for probes through the API server.
func TestPollInterval(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
	for name, test := range map[string]struct {
		through bool
		waited  time.Duration
		want    time.Duration
	}{
		"pods, at first":                {false, 0, 250 * time.Millisecond},
		"pods, after a while":           {false, 40 * time.Second, 5 * time.Second},
		"pods, after a day":             {false, day, 30 * time.Second},
		"the API server, at first":      {true, 1500 * time.Millisecond, 1500 * time.Millisecond}, // the next re-sync is after three seconds
		"the API server, after a while": {true, 40 * time.Second, 5 * time.Second},
		"the API server, after an hour": {true, time.Hour, 7*time.Minute + 3*time.Second}, // the next re-sync
	} {
		t.Run(name, func(t *testing.T) {
			now := after(due + test.waited)
			d := Decide(Facts{Secret: promoted.Secret, Names: names, Live: true, Running: true, Registrations: []Registration{trusting(second, first)}, Evidence: &Evidence{
				Leaf: promoted.assembled(second).leaf(), ThroughAPIServer: test.through, Backends: []Backend{{Pod: "a", Serves: ServesUnknown}}}}, DefaultPolicy(), now)
			installtest.Same(t, "the next poll is after", test.want, d.PollAt.Sub(now))
		})
	}
}

// A restart that was requested, and that the Deployment does not get, is awaited in the same way. So is
// evidence about the current leaf.
func TestPollIntervalOfARestart(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
	requested := promoted.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotateAt] = "x" })
	for name, secret := range map[string]*corev1.Secret{"a requested restart": requested.Secret, "evidence about another leaf": promoted.Secret} {
		for waited, want := range map[time.Duration]time.Duration{0: time.Second, 40 * time.Second: 5 * time.Second, day: 30 * time.Second} {
			now := after(due + waited)
			d := Decide(Facts{Secret: secret, Names: names, Live: true, Running: true, RestartedFor: "1", Registrations: []Registration{trusting(second, first)}, Evidence: &Evidence{}}, DefaultPolicy(), now)
			installtest.Same(t, fmt.Sprintf("%s, after %s: the next poll is after", name, waited), want, d.PollAt.Sub(now))
			installtest.Same(t, name+": it restarts pods", secret == requested.Secret, d.Restart)
		}
	}
}

func TestResyncTimes(t *testing.T) {
	for after, want := range map[time.Duration][2]time.Duration{
		0:                 {0, time.Second},
		time.Second:       {time.Second, 3 * time.Second},
		5 * time.Second:   {3 * time.Second, 7 * time.Second},
		40 * time.Second:  {31 * time.Second, 63 * time.Second},
		100 * time.Minute: {97*time.Minute + 3*time.Second, 107*time.Minute + 3*time.Second},
	} {
		last, next := resyncTimes(start, start.Add(after))
		installtest.Same(t, fmt.Sprintf("after %s, the re-syncs of kubelets", after), fmt.Sprint(want[0], want[1]), fmt.Sprint(last.Sub(start), next.Sub(start)))
	}
}

func TestResyncTimeInTheFutureIsIgnored(t *testing.T) {
	seen := Evidence{Backends: []Backend{{Pod: "a", Serves: ServesOther, ResyncedAt: after(time.Hour)}, {Pod: "b", Serves: ServesOther, ResyncedAt: after(time.Minute)}}}
	installtest.Same(t, "pods to re-sync", []string{"a"}, seen.podsToResync(start, after(time.Minute)))
}
