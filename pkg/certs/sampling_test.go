package certs

import (
	"testing"
	"time"
)

// No call is made through a Service whose outcome would not count.
func TestSampling(t *testing.T) {
	const few, same = "there are more than 8 of them", "they come through with the certificate before as well"
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := holding(t, first).next(second, after(due)).promoted(after(due))
	shares := promoted.edited("previous-ca.crt", nil)
	for name, test := range map[string]struct {
		secret       built
		grace        time.Duration
		waited       time.Duration
		unsampled    string
		worthwhile   bool
		inconclusive string
	}{
		"all are reached":                            {secret: promoted, worthwhile: true},
		"all are reached, at any time":               {secret: promoted, waited: day, worthwhile: true},
		"some are reached":                           {secret: promoted, unsampled: few, worthwhile: true, inconclusive: few},
		"some are reached, for ten minutes":          {secret: promoted, waited: 10*time.Minute - 1, unsampled: few, worthwhile: true, inconclusive: few},
		"some are reached, after that":               {secret: promoted, waited: 10 * time.Minute, unsampled: few, inconclusive: few},
		"some are reached, and reload in their time": {secret: promoted, grace: 10 * time.Minute, waited: 20*time.Minute - 1, unsampled: few, worthwhile: true, inconclusive: few},
		"… and have not":                             {secret: promoted, grace: 10 * time.Minute, waited: 20 * time.Minute, unsampled: few, inconclusive: few},
		"of the same CA":                             {secret: shares, inconclusive: same},
		"of the same CA, and some are reached":       {secret: shares, unsampled: few, inconclusive: same},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultPolicy()
			if test.grace > 0 {
				p.Grace = test.grace
			}
			f := Facts{Secret: test.secret.Secret, Names: names, Registrations: []Registration{trusting(second, first)}}
			got := Decide(f, p, after(due+test.waited)).Serving.Sampling(test.unsampled)
			if want := (Sampling{test.worthwhile, test.inconclusive}); got != want {
				t.Errorf("calls are %+v, want %+v", got, want)
			}
		})
	}
}

// Where the API server is asked, it is at longer intervals, which grow with the wait.
func TestPausesBetweenLooks(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := holding(t, first).next(second, after(due)).promoted(after(due))
	for name, test := range map[string]struct {
		through bool
		waited  time.Duration
		want    time.Duration
	}{
		"pods, at first":                {false, 0, 250 * time.Millisecond},
		"pods, after a while":           {false, 40 * time.Second, 5 * time.Second},
		"pods, after a day":             {false, day, 30 * time.Second},
		"the API server, at first":      {true, 1500 * time.Millisecond, 1500 * time.Millisecond}, // kubelets are to look after three seconds
		"the API server, after a while": {true, 40 * time.Second, 5 * time.Second},
		"the API server, after an hour": {true, time.Hour, 7*time.Minute + 3*time.Second}, // kubelets, again
	} {
		t.Run(name, func(t *testing.T) {
			now := after(due + test.waited)
			d := Decide(Facts{Secret: promoted.Secret, Names: names, Live: true, Running: true, Registrations: []Registration{trusting(second, first)}, Evidence: &Evidence{
				Leaf: promoted.assembled(second).leaf(), ThroughAPIServer: test.through, Backends: []Backend{{Pod: "a", Serves: ServesUnknown}}}}, DefaultPolicy(), now)
			if got := d.PollAt.Sub(now); got != test.want {
				t.Errorf("the next look is after %s, want %s", got, test.want)
			}
		})
	}
}
