package certs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// version is a state that an object had from an instant on.
type version[T any] struct {
	since time.Time
	value T
}

// object is one that the API server stores, with all that it ever was: a cache shows
// some state of the past.
type object[T any] []version[T]

func (o object[T]) last() T { return o[len(o)-1].value }

// asOf is the state at an instant, the first one before that.
func (o object[T]) asOf(at time.Time) T {
	for i := len(o) - 1; i > 0; i-- {
		if !o[i].since.After(at) {
			return o[i].value
		}
	}
	return o[0].value
}

// registration is what is stored of one, with the generation that it says it trusts.
type registration struct {
	Registration
	generation int64
	number     int // of this state
}

// pod serves what it loaded from its files.
type pod struct {
	name          string
	files, loaded Generation
	foundAt       time.Time // when its kubelet looks next
	loadsAt       time.Time // when it looks at its files next; zero for never
	nudged        time.Time
}

// world is a cluster in which everything comes late, and some of it not at all: caches,
// API servers, kubelets, pods, and the writes of managers that were paused.
type world struct {
	t             *testing.T
	random        dice
	now           time.Time
	secret        object[*corev1.Secret]
	registrations []object[registration]
	learnt        []time.Duration // how late each API server is
	pods          []*pod
	held          []heldWrite // of managers that were paused
	writes        int
	restarts      int
	lastPromoted  int64
	verified      map[string]error
	reloads       bool // whether pods do
	story         []string
}

// tell notes what happened, for who asks why a call failed.
func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	if len(w.story) > 30 {
		w.story = w.story[1:]
	}
}

// heldWrite reaches the API server at an instant.
type heldWrite struct {
	at time.Time
	do func()
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: dice{seed}, now: start, verified: map[string]error{}, reloads: seed%3 != 0}
	w.secret = object[*corev1.Secret]{{start.Add(-time.Hour), nil}}
	w.pass(0, false)
	w.now = w.now.Add(time.Minute)
	for i := range 3 {
		w.addPod(fmt.Sprint("pod-", i))
	}
	for i := range 2 {
		d := w.decide(0, true)
		w.registrations = append(w.registrations, object[registration]{{w.now, registration{
			Registration: Registration{Name: fmt.Sprint("webhook-", i), Version: "0", CABundle: d.Trust}, generation: d.Generation,
		}}})
	}
	w.learnt = []time.Duration{0, w.upTo(4 * time.Second)}
	w.now = w.now.Add(time.Minute)
	return w
}

func (w *world) upTo(longest time.Duration) time.Duration {
	return time.Duration(w.random.below(int(longest) + 1))
}

// addPod starts one with what the Secret holds: without a certificate none starts.
func (w *world) addPod(name string) {
	g, ok := w.mounted()
	if !ok {
		return
	}
	p := &pod{name: name, files: g, loaded: g, foundAt: w.now.Add(w.upTo(90 * time.Second))}
	w.pods = append(w.pods, p)
}

// mounted is what the Secret gives to pods. A kubelet that finds a key missing leaves a
// pod's files as they are.
func (w *world) mounted() (Generation, bool) {
	secret := w.secret.last()
	if secret == nil || len(secret.Data["tls.crt"]) == 0 || len(secret.Data["ca.crt"]) == 0 || bytes.Equal(secret.Data["tls.crt"], []byte("spoiled")) {
		return Generation{}, false
	}
	return Generation{Certificate: secret.Data["tls.crt"], Key: secret.Data["tls.key"], CA: secret.Data["ca.crt"]}, true
}

// facts are what a manager knows whose caches are late by so much, each by another part
// of it.
func (w *world) facts(lag time.Duration) Facts {
	f := Facts{Blank: blank, Names: names, Running: len(w.pods) > 0, Secret: w.secret.asOf(w.now.Add(-w.upTo(lag)))}
	for _, r := range w.registrations {
		f.Registered = append(f.Registered, r.asOf(w.now.Add(-w.upTo(lag))).Registration)
	}
	return f
}

// decide finds out what a decision lacks, as a controller does.
func (w *world) decide(lag time.Duration, wholly bool) Decision {
	f := w.facts(lag)
	for {
		d := Decide(f, DefaultPolicy(), w.now)
		if !wholly {
			return d
		}
		switch d.Need {
		case NeedNothing:
			return d
		case NeedIssued:
			f.Issued = new(mint(w.t, *d.Mint))
		case NeedRotating:
			f.Rotating = new(int)
		case NeedLive:
			f = w.live(f)
		case NeedEvidence:
			f = w.live(f)
			f.Evidence = w.evidence(d)
		}
	}
}

func (w *world) live(f Facts) Facts {
	live := w.facts(0)
	live.Live, live.Issued, live.Rotating = true, f.Issued, f.Rotating
	return live
}

// evidence is what pods answer to what was known before the live reads; some do not.
func (w *world) evidence(d Decision) *Evidence {
	seen := &Evidence{}
	if d.Serving == nil {
		return seen
	}
	seen.Leaf = d.Serving.Leaf
	for _, p := range w.pods {
		b := Backend{Pod: p.name, Nudged: p.nudged, Message: p.name}
		switch {
		case w.random.chance(10):
			b.Serves = ServesUnknown
		case hexSHA256(parse(p.loaded.Certificate)[0].Raw) != d.Serving.Leaf:
			b.Serves = ServesOther
		}
		seen.Backends = append(seen.Backends, b)
	}
	return seen
}

// pass is a manager's, whose caches are late. As in pkg/rollout, a lower generation is
// never written over a higher one. Its writes may come late too, all of them
// or some, and it may die after any.
func (w *world) pass(lag time.Duration, faulty bool) Decision {
	seen := make([]registration, len(w.registrations))
	for i, r := range w.registrations {
		seen[i] = r.asOf(w.now.Add(-w.upTo(lag)))
	}
	d := w.decide(lag, true)
	var do []func() bool
	if d.Write != nil {
		do = append(do, func() bool { return w.writeSecret(d.Write) })
	}
	for i := range w.registrations {
		if seen[i].generation <= d.Generation && !bytes.Equal(seen[i].CABundle, d.Trust) {
			do = append(do, func() bool { return w.writeRegistration(i, seen[i].number, d) })
		}
	}
	w.send(do, faulty)
	w.follow(d)
	return d
}

// send carries out writes in their order, or has them come late, or not at all.
func (w *world) send(do []func() bool, faulty bool) {
	at, failed := w.now, false // what follows a write that fails is left
	for _, write := range do {
		if faulty && w.random.chance(5) {
			break // it dies
		}
		if faulty && w.random.chance(10) {
			at = at.Add(w.upTo(2 * time.Minute)) // it is paused
		}
		if at.After(w.now) {
			w.held = append(w.held, heldWrite{at, func() { failed = failed || !write() }})
		} else if !write() {
			break
		}
	}
}

// follow is what kubelets and the Deployment controller make of a decision.
func (w *world) follow(d Decision) {
	for _, p := range w.pods {
		for _, name := range d.Nudge {
			if p.name == name {
				p.nudged, p.foundAt = w.now, earliest(w.now, p.foundAt, w.now.Add(w.upTo(2*time.Second)))
			}
		}
	}
	if d.Restart && d.Serving != nil && d.Serving.Number > w.lastPromoted {
		w.lastPromoted = d.Serving.Number
		w.restart()
	}
}

// restart replaces pods one after the other.
func (w *world) restart() {
	w.restarts++
	for i, p := range w.pods {
		w.replaceAt(p, w.now.Add(time.Duration(i+1)*3*time.Second))
	}
}

// replaceAt lets another pod take the place of one, once it has something to mount.
func (w *world) replaceAt(p *pod, at time.Time) {
	w.held = append(w.held, heldWrite{at, func() {
		g, ok := w.mounted()
		if !ok {
			w.replaceAt(p, w.now.Add(time.Second))
			return
		}
		p.files, p.loaded = g, g
	}})
}

// writeSecret stores a Secret, if it was that of before.
func (w *world) writeSecret(s *corev1.Secret) bool {
	last := w.secret.last()
	if last == nil && s.ResourceVersion != "" || last != nil && last.ResourceVersion != s.ResourceVersion {
		return false
	}
	w.store(s)
	return true
}

func (w *world) store(s *corev1.Secret) {
	if s != nil {
		w.writes++
		s = s.DeepCopy()
		s.ResourceVersion = fmt.Sprint(w.writes)
	}
	w.secret = append(w.secret, version[*corev1.Secret]{w.now, s})
	w.tell("Secret: %s", describe(s))
}

// writeRegistration changes one as it was seen.
func (w *world) writeRegistration(i, seen int, d Decision) bool {
	last := w.registrations[i].last()
	if last.number != seen {
		return false
	}
	written := last
	written.number++
	written.CABundle, written.generation = d.Trust, d.Generation
	written.Version = fmt.Sprint(written.number)
	w.registrations[i] = append(w.registrations[i], version[registration]{w.now, written})
	w.tell("%s trusts %s, generation %d", last.Name, numbersOf(parse(d.Trust)), d.Generation)
	return true
}

// elapse lets time pass, and what was due by then happen.
func (w *world) elapse(d time.Duration) {
	w.now = w.now.Add(d)
	held := w.held
	w.held = nil
	for _, write := range held {
		if write.at.After(w.now) {
			w.held = append(w.held, write)
		} else {
			write.do()
		}
	}
	for _, p := range w.pods {
		if !p.foundAt.After(w.now) {
			if g, ok := w.mounted(); ok && !bytes.Equal(g.Certificate, p.files.Certificate) {
				w.tell("%s is brought %s", p.name, numbersOf(parse(g.CA)))
				p.files, p.loadsAt = g, w.now.Add(w.upTo(10*time.Second))
			}
			p.foundAt = w.now.Add(60*time.Second + w.upTo(30*time.Second))
		}
		if w.reloads && !p.loadsAt.IsZero() && !p.loadsAt.After(w.now) {
			p.loaded, p.loadsAt = p.files, time.Time{}
		}
	}
	w.check()
}

// check lets every API server, with what it knows of every registration, call every pod.
func (w *world) check() {
	w.t.Helper()
	for _, late := range w.learnt {
		for _, r := range w.registrations {
			known := r.asOf(w.now.Add(-late))
			for _, p := range w.pods {
				key := string(p.loaded.Certificate) + string(known.CABundle)
				err, done := w.verified[key]
				if !done {
					err = verifies(p.loaded.Certificate, known.CABundle, parse(p.loaded.Certificate)[0].NotBefore.Add(time.Hour))
					w.verified[key] = err
				}
				ends := parse(p.loaded.Certificate)[0].NotAfter
				if err != nil || !w.now.Before(ends) {
					w.t.Fatalf("at %s %s, known %s late, does not verify %s, which serves %s until %s: %v\n%s", w.now.Format(time.RFC3339Nano),
						known.Name, late, p.name, numbersOf(parse(p.loaded.CA)), instant(ends), err, strings.Join(w.story, "\n"))
				}
			}
		}
	}
}

// atRest tells whether nothing is left to do with the Secret.
func (w *world) atRest() bool {
	last := w.secret.last()
	return last != nil && len(w.held) == 0 && len(last.Data[vocabulary.KeyNextCA]) == 0 && last.Annotations[vocabulary.AnnotationPromoted] == ""
}

// settledWith tells whether the rotation is over.
func (w *world) settledWith(d Decision) bool {
	return d.Phase == managerv1alpha1.CertificateStable && d.Need == NeedNothing && len(w.held) == 0 && d.Write == nil
}
