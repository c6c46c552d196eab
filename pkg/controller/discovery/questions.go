package discovery

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

const (
	// MaxAge is how old an answer may be, unless a change of an APIService makes it void earlier.
	MaxAge = 250 * time.Millisecond
	// askTimeout is the timeout of the API server itself for the availability of an APIService.
	askTimeout = 5 * time.Second
	// answerWait is for all answers of a reconciliation, too. A healthy API server answers in milliseconds.
	answerWait = time.Second
	// slowKept is how long nothing waits for the answers to a question that once took longer.
	slowKept = 10 * time.Minute
)

// Questions asks in the background: one question at a time about each subject. A subject
// without an answer is asked about again after requirements.DiscoveryInterval.
type Questions[K comparable, A any] struct {
	ask  func(context.Context, K) (A, error)
	wake func(queue.Key) // queues what was reconciled without an answer that has come since

	mutex sync.Mutex // never held while the API server is asked
	about map[K]*question[A]
}

func newQuestions[K comparable, A any](ask func(context.Context, K) (A, error), wake func(queue.Key)) *Questions[K, A] {
	return &Questions[K, A]{ask: ask, wake: wake, about: map[K]*question[A]{}}
}

// Reply is the last answer about a subject.
type Reply[A any] struct {
	Answer A
	Known  bool
	// announced is when a change last announced another answer, or the subject was first asked about.
	Announced time.Time
}

// Asker is a reconciliation that asks questions.
type Asker struct {
	key   queue.Key
	until time.Time // it waits for answers until then
}

// NewAsker returns the asker for the reconciliation of a key, which begins now.
func NewAsker(k queue.Key) Asker { return Asker{k, time.Now().Add(answerWait)} }

// Of asks if the last answer is older than age, and waits for a moment. A later and other answer queues the Asker.
func (q *Questions[K, A]) Of(subject K, by Asker, age time.Duration) Reply[A] {
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

// begin returns what is closed when the question is answered, and how long to wait for that.
func (q *Questions[K, A]) begin(subject K, by Asker, age time.Duration) (done <-chan struct{}, wait time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	now := time.Now()
	asked := q.about[subject]
	if asked == nil {
		asked = &question[A]{last: Reply[A]{Announced: now}, void: true}
		q.about[subject] = asked
	}
	if asked.due(now, age) {
		asked.begin(now)
		go q.run(subject, asked)
	}
	return asked.done, asked.wait(now, by)
}

func (q *Questions[K, A]) run(subject K, asked *question[A]) {
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

func (q *Questions[K, A]) last(subject K, by Asker) (last Reply[A], void bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	asked := q.about[subject]
	if asked.done != nil {
		asked.without[by.key] = true
	}
	return asked.last, asked.void
}

// Announce makes an answer void because of a change. It is used until the next one.
func (q *Questions[K, A]) Announce(subject K) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if asked := q.about[subject]; asked != nil {
		asked.void, asked.last.Announced = true, time.Now()
	}
}

type question[A any] struct {
	last   Reply[A]
	began  time.Time // of the last question
	slow   time.Time // when a question last took longer than answerWait
	void   bool      // the last question began before a change that announced another answer
	failed bool      // the last question was not answered

	done    chan struct{}      // closed when the question is answered; nil when there is none
	without map[queue.Key]bool // what was reconciled without its answer
}

func (a *question[A]) due(now time.Time, age time.Duration) bool {
	switch since := now.Sub(a.began); {
	case a.done != nil:
		return false
	case a.void:
		return true
	case a.failed:
		return since >= requirements.DiscoveryInterval(a.last.Announced, a.began)
	default:
		return since >= age
	}
}

func (a *question[A]) begin(now time.Time) {
	a.began, a.void = now, false
	a.done, a.without = make(chan struct{}), map[queue.Key]bool{}
}

func (a *question[A]) wait(now time.Time, by Asker) time.Duration {
	if a.done == nil || !a.slow.IsZero() && now.Sub(a.slow) < slowKept {
		return 0
	}
	return min(a.began.Add(answerWait).Sub(now), by.until.Sub(now))
}

// end takes the answer, and returns what was reconciled without it and has to be reconciled with it.
func (a *question[A]) end(answer A, err error, now time.Time) (late map[queue.Key]bool) {
	if now.Sub(a.began) >= answerWait {
		a.slow = now
	}
	changed := err == nil && !(a.last.Known && equality.Semantic.DeepEqual(a.last.Answer, answer))
	if changed || a.void {
		late = a.without
	}
	if a.failed = err != nil; err == nil {
		a.last.Answer, a.last.Known = answer, true
	}
	close(a.done)
	a.done, a.without = nil, nil
	return late
}
