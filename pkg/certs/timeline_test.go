package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// timeline is a Deployment with one registered webhook, and a clock. A pod may serve
// any leaf that was ever in the Secret: nobody can say when it looks again.
type timeline struct {
	t          *testing.T
	now        time.Time
	secret     *corev1.Secret
	registered [][]byte
	served     []Generation
	mints      int
}

// pass is a reconcile. Where a generation is minted, it may crash before the Secret.
func (l *timeline) pass(crash bool) Decision {
	l.t.Helper()
	d := Decide(Facts{Secret: l.secret, Registered: l.registered, Names: names}, DefaultPolicy(), l.now)
	if d.Mint == nil {
		l.publish(d.Trust)
		return d
	}
	g := mint(l.t, *d.Mint)
	l.mints++
	l.publish(g.Trust(d))
	if crash {
		return d
	}
	if l.secret == nil {
		l.secret = blank()
	}
	l.secret = Fill(l.secret, g, d)
	l.served = append(l.served, g)
	l.check()
	return d
}

// publish puts a bundle into the registration, if there is one.
func (l *timeline) publish(bundle []byte) {
	l.t.Helper()
	if len(l.registered) > 0 {
		l.registered[0] = bundle
	}
	l.check()
}

// check calls every pod that serves a leaf of the past that has not ended.
func (l *timeline) check() {
	l.t.Helper()
	if len(l.registered) == 0 {
		return
	}
	for _, g := range l.served {
		if !l.now.Before(parse(g.Certificate)[0].NotAfter) {
			continue
		}
		if err := verifies(g.Certificate, l.registered[0], l.now); err != nil {
			l.t.Fatalf("%s: generation %d, still served: %v", l.now.Format(time.RFC3339), g.Number, err)
		}
	}
}

// walk passes every 12 hours, and at every instant that a pass asks for.
func (l *timeline) walk(until time.Duration) {
	l.t.Helper()
	for end := after(until); l.now.Before(end); {
		d := l.pass(false)
		l.now = l.now.Add(12 * time.Hour)
		if d.Next.Before(l.now) && d.Mint == nil {
			l.now = d.Next
		}
		l.check()
	}
}

func newTimeline(t *testing.T) *timeline {
	l := &timeline{t: t, now: start}
	l.pass(false)
	l.registered = [][]byte{l.pass(false).Trust}
	l.check()
	return l
}

func TestTwoRenewalsCostNoCall(t *testing.T) {
	l := newTimeline(t)
	l.walk(150 * day)
	if l.mints != 3 {
		t.Errorf("%d generations were minted in 150 days, want 3", l.mints)
	}
	if n := len(parse(l.registered[0])); n != 1 {
		t.Errorf("%d CAs are trusted 30 days after the last renewal, want 1", n)
	}
}

func TestALossBetweenRenewalsCostsNoCall(t *testing.T) {
	l := newTimeline(t)
	l.walk(70 * day)
	l.secret = nil
	l.pass(true)
	l.pass(true)
	if n := len(parse(l.registered[0])); n != 4 {
		t.Errorf("%d CAs are trusted after two crashes, want the 2 served ones and 2 that never were", n)
	}
	l.walk(161 * day)
	if n := len(parse(l.registered[0])); n != 1 {
		t.Errorf("%d CAs are trusted when those of the crashes have ended, want 1", n)
	}
}

func TestACrashInARenewalCostsNoCall(t *testing.T) {
	l := newTimeline(t)
	l.now = after(60 * day)
	l.pass(true)
	l.walk(61 * day)
	if n := len(parse(l.registered[0])); n != 2 {
		t.Errorf("%d CAs are trusted, want the served one and its successor: the CA of the crash is to be pruned", n)
	}
}

// Between a pass and its Next nothing may change, or a change would go unnoticed;
// at Next something must, or the pass there is for nothing.
func TestNextIsWhenTheAnswerChanges(t *testing.T) {
	ended := minted(t, 1, after(-80*day))
	facts := Facts{Secret: holding(minted(t, 2, after(2*day)), ended), Registered: [][]byte{ended.CA}, Names: names}
	at, answers := start, 0
	for !at.IsZero() {
		d := Decide(facts, DefaultPolicy(), at)
		if d.Next.IsZero() {
			break
		}
		answers++
		if same := Decide(facts, DefaultPolicy(), d.Next.Add(-time.Nanosecond)); summary(same) != summary(d) {
			t.Errorf("the answer of %s changes before %s: from %s to %s", at, d.Next, summary(d), summary(same))
		}
		if next := Decide(facts, DefaultPolicy(), d.Next); summary(next) == summary(d) {
			t.Errorf("the answer of %s does not change at %s: %s", at, d.Next, summary(d))
		}
		at = d.Next
	}
	if answers != 4 {
		t.Errorf("the answer changed %d times, want 4: begins, an earlier CA ends, is due, ends", answers)
	}
}

// summary is all of a decision but when to look again and the dates of the request.
func summary(d Decision) string {
	text := string(d.Phase) + " " + d.Problem + " " + hexSHA256(d.Trust)
	if d.Serving != nil {
		text += " serving"
	}
	if d.Mint != nil {
		text += " mint"
	}
	return text
}
