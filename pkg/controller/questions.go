package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

const (
	// askTimeout ends a question. It is the timeout of the API server itself when it checks whether
	// an APIService is available.
	askTimeout = 5 * time.Second
	// answerWait is how long a reconciliation waits for answers, all in all, and how long a question
	// is waited for. An API server that is well answers in milliseconds.
	answerWait = time.Second
	// slowKept is how long nothing waits for the answers to a question that once took longer.
	slowKept = 10 * time.Minute
)

// questions asks the API server in the background: one question at a time about each subject. It keeps
// the last answer. A subject that is not answered is asked about again after install.APIPause.
type questions[K comparable, A any] struct {
	ask  func(context.Context, K) (A, error)
	wake func(key) // queues what was reconciled without an answer that has come since

	mutex sync.Mutex // never held while the API server is asked
	about map[K]*question[A]
}

func newQuestions[K comparable, A any](ask func(context.Context, K) (A, error), wake func(key)) *questions[K, A] {
	return &questions[K, A]{ask: ask, wake: wake, about: map[K]*question[A]{}}
}

// reply is the last answer about a subject.
type reply[A any] struct {
	answer A
	// known is false before the first answer.
	known bool
	// announced is when a change last announced another answer, or the subject was first asked about.
	announced time.Time
}

// asker is a reconciliation that asks.
type asker struct {
	key   key
	until time.Time // it waits for answers until then
}

func newAsker(k key) asker { return asker{k, time.Now().Add(answerWait)} }

// of returns the last answer about a subject. It asks when that is older than age, and waits a short
// time for the new one. The asker is queued when the new one comes later, and is another.
func (q *questions[K, A]) of(subject K, by asker, age time.Duration) reply[A] {
	for {
		done, wait := q.begin(subject, by, age)
		if wait > 0 {
			await(done, wait)
		}
		if last, void := q.last(subject, by); wait <= 0 || !void {
			return last
		}
	}
}

func await(done <-chan struct{}, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// begin asks, if it is time to. It returns what is closed when the question is answered, and how long
// to wait for that.
func (q *questions[K, A]) begin(subject K, by asker, age time.Duration) (done <-chan struct{}, wait time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	now := time.Now()
	asked := q.about[subject]
	if asked == nil {
		asked = &question[A]{last: reply[A]{announced: now}, void: true}
		q.about[subject] = asked
	}
	if asked.due(now, age) {
		asked.begin(now)
		go q.run(subject, asked)
	}
	return asked.done, asked.wait(now, by)
}

func (q *questions[K, A]) run(subject K, asked *question[A]) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	answer, err := q.ask(ctx, subject)
	q.mutex.Lock()
	late := asked.end(answer, err, time.Now())
	q.mutex.Unlock()
	for k := range late {
		q.wake(k)
	}
}

// last returns the last answer, and whether a change has announced another one since it was asked for.
func (q *questions[K, A]) last(subject K, by asker) (last reply[A], void bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	asked := q.about[subject]
	if asked.done != nil {
		asked.without[by.key] = true
	}
	return asked.last, asked.void
}

// announce makes the answer about a subject void, because a change announces another. The last one
// is used until that comes.
func (q *questions[K, A]) announce(subject K) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if asked := q.about[subject]; asked != nil {
		asked.void, asked.last.announced = true, time.Now()
	}
}

// question is what has been asked about a subject.
type question[A any] struct {
	last   reply[A]
	began  time.Time // of the last question
	slow   time.Time // when a question last took longer than answerWait
	void   bool      // the last question began before a change that announced another answer
	failed bool      // the last question was not answered

	done    chan struct{} // closed when the question is answered; nil when there is none
	without map[key]bool  // what was reconciled without its answer
}

// due reports whether it is time to ask.
func (a *question[A]) due(now time.Time, age time.Duration) bool {
	switch since := now.Sub(a.began); {
	case a.done != nil:
		return false
	case a.void:
		return true
	case a.failed:
		return since >= install.APIPause(a.last.announced, a.began)
	default:
		return since >= age
	}
}

func (a *question[A]) begin(now time.Time) {
	a.began, a.void = now, false
	a.done, a.without = make(chan struct{}), map[key]bool{}
}

// wait is how long an asker waits for the answer.
func (a *question[A]) wait(now time.Time, by asker) time.Duration {
	if a.done == nil || !a.slow.IsZero() && now.Sub(a.slow) < slowKept {
		return 0
	}
	return min(a.began.Add(answerWait).Sub(now), by.until.Sub(now))
}

// end takes the answer, and returns what was reconciled without it and has to be reconciled with it.
func (a *question[A]) end(answer A, err error, now time.Time) (late map[key]bool) {
	if now.Sub(a.began) >= answerWait {
		a.slow = now
	}
	changed := err == nil && !(a.last.known && equality.Semantic.DeepEqual(a.last.answer, answer))
	if changed || a.void {
		late = a.without
	}
	if a.failed = err != nil; err == nil {
		a.last.answer, a.last.known = answer, true
	}
	close(a.done)
	a.done, a.without = nil, nil
	return late
}
