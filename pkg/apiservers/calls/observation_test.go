package calls

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// failingAt returns what is known after calls failed at some addresses, and the time.
func failingAt(addresses ...string) (Observation, time.Time) {
	now := start
	var o Observation
	for calls := range 2 {
		read := map[string]Reading{}
		for _, address := range addresses {
			read[address] = Reading{Webhooks: map[Webhook]Counters{wanted: {Calls: float64(calls), Failed: map[string]float64{refused: float64(calls)}}}}
		}
		now = start.Add(time.Duration(calls) * policy.Interval)
		o = o.Next(policy, Readings{Read: read}, Known{wanted: nil}, now)
	}
	return o, now
}

func TestReport(t *testing.T) {
	o, now := failingAt("192.0.2.2:6443", "192.0.2.1:6443")
	failure := Failure{refused, now}
	both := []ServerFailure{{"192.0.2.1:6443", failure}, {"192.0.2.2:6443", failure}}
	installtest.Same(t, "fails", true, o.Fails())
	for name, test := range map[string]struct {
		configurations []string
		want           Report
	}{
		"one configuration":  {[]string{"a"}, Report{Complete: true, Failures: map[Webhook][]ServerFailure{wanted: both}, Shared: map[Webhook][]string{}}},
		"two configurations": {[]string{"a", "b"}, Report{Complete: true, Failures: map[Webhook][]ServerFailure{}, Shared: map[Webhook][]string{wanted: {"a", "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "the report", test.want, o.Attributed(map[Webhook][]string{wanted: test.configurations}).Report(policy, now))
		})
	}
}

// What is known about an API server stays while it cannot be read, and ends with its address.
func TestAPIServerThatIsNotRead(t *testing.T) {
	o, now := failingAt("a", "b")
	step := func(r Readings, after time.Duration) Report {
		now = now.Add(after)
		o = o.Next(policy, r, Known{wanted: nil}, now)
		return o.Report(policy, now)
	}
	failing := func(r Report) (addresses []string) {
		for _, f := range r.Failures[wanted] {
			addresses = append(addresses, f.APIServer)
		}
		return addresses
	}
	first := step(Readings{Unread: map[string]string{"a": "no route", "b": "forbidden"}}, policy.Interval)
	installtest.Same(t, "failing", []string{"a", "b"}, failing(first))
	installtest.Same(t, "reported at once", "", first.Unobserved)
	later := step(Readings{Unread: map[string]string{"a": "another text", "b": "forbidden"}, Obstacle: "one has no address"}, unreadIntervals*policy.Interval)
	installtest.Same(t, "reported later", "the metrics of the API server at a cannot be read: no route; the metrics of the API server at b cannot be read: forbidden", later.Unobserved)
	last := step(Readings{Unread: map[string]string{"b": "forbidden"}, Obstacle: "one has no address"}, unreadIntervals*policy.Interval)
	installtest.Same(t, "failing after an address is removed", []string{"b"}, failing(last))
	installtest.Same(t, "with an obstacle", "one has no address; the metrics of the API server at b cannot be read: forbidden", last.Unobserved)
	none := step(Readings{}, policy.Interval)
	installtest.Same(t, "without addresses", Report{Complete: true, Failures: map[Webhook][]ServerFailure{}, Shared: map[Webhook][]string{}}, none)
	installtest.Same(t, "fails", false, o.Fails())
}

// A failure of a name that was shared may be that of a configuration which no longer exists.
func TestNameIsNoLongerShared(t *testing.T) {
	o, now := failingAt("a")
	configurations := func(names ...string) Report {
		o = o.Attributed(map[Webhook][]string{wanted: names})
		return o.Report(policy, now)
	}
	installtest.Same(t, "shared", []string{"a", "b"}, configurations("a", "b").Shared[wanted])
	installtest.Same(t, "the failures of the other one", nil, configurations("b").Failures[wanted])
	installtest.Same(t, "fails", false, o.Fails())
}

// The addresses of API servers cannot be read for a time.
func TestNoAddressIsKnown(t *testing.T) {
	o, now := failingAt("a")
	none := Readings{Obstacle: "the addresses of API servers cannot be read"}
	next := o.Next(policy, none, Known{wanted: nil}, now.Add(policy.Interval))
	installtest.Same(t, "fails", true, next.Fails())
	installtest.Same(t, "after an hour", false, next.Next(policy, none, Known{wanted: nil}, now.Add(time.Hour)).Fails())
	installtest.Same(t, "a webhook that is not registered any more", false, o.Next(policy, none, nil, now).Fails())
}

// A failure is forgotten also while the API server cannot be read.
func TestFailureOfAnAPIServerThatIsNotRead(t *testing.T) {
	o, now := failingAt("a")
	unread := Readings{Unread: map[string]string{"a": "forbidden"}}
	installtest.Same(t, "at first", true, o.Next(policy, unread, Known{wanted: nil}, now.Add(policy.Interval)).Fails())
	installtest.Same(t, "after an hour", false, o.Next(policy, unread, Known{wanted: nil}, now.Add(time.Hour)).Fails())
}

// What never was read is reported at once.
func TestAPIServerThatNeverWasRead(t *testing.T) {
	o := Observation{}.Next(policy, Readings{Unread: map[string]string{"a": "forbidden"}, Obstacle: "one has no address"}, nil, start)
	installtest.Same(t, "reported at once", "one has no address; the metrics of the API server at a cannot be read: forbidden", o.Report(policy, start).Unobserved)
}

func TestDiffers(t *testing.T) {
	o, now := failingAt("a")
	fails := o.Report(policy, now)
	shared := o.Attributed(map[Webhook][]string{wanted: {"a", "b"}}).Report(policy, now)
	unobserved := fails
	unobserved.Unobserved = "forbidden"
	other := []Webhook{{Mutating, wanted.Name}}
	for name, test := range map[string]struct {
		a, b     Report
		webhooks []Webhook
		want     bool
	}{
		"the same":               {fails, fails, []Webhook{wanted}, false},
		"the first":              {Report{Complete: true}, Report{}, []Webhook{wanted}, false},
		"it fails":               {fails, Report{Complete: true}, []Webhook{wanted}, true},
		"another webhook fails":  {fails, Report{Complete: true}, other, false},
		"the name is shared":     {shared, Report{Complete: true}, []Webhook{wanted}, true},
		"something is not known": {fails, unobserved, nil, true},
	} {
		installtest.Same(t, name, test.want, test.a.Differs(test.b, test.webhooks))
	}
}
