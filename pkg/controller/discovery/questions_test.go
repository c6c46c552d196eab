package discovery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// playedServer answers questions when the test lets it.
type playedServer struct {
	*Questions[string, string]
	began, ended int
	woken        map[queue.Key]int
	answers      chan string // an empty one is a failure
}

func playServer() *playedServer {
	s := &playedServer{woken: map[queue.Key]int{}, answers: make(chan string)}
	s.Questions = newQuestions(s.answer, func(k queue.Key) { s.woken[k]++ })
	return s
}

func (s *playedServer) answer(ctx context.Context, _ string) (string, error) {
	s.began++
	defer func() { s.ended++ }()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case answer := <-s.answers:
		if answer == "" {
			return "", errors.New("refused")
		}
		return answer, nil
	}
}

// asks reconciles a key, and returns the answer and how long that took.
func (s *playedServer) asks(name string) (string, time.Duration) {
	began := time.Now()
	return s.Of("v1", NewAsker(queue.CSVKey("shop", name)), MaxAge).Answer, time.Since(began)
}

func (s *playedServer) answered(name, answer string) string {
	go func() { s.answers <- answer }()
	got, _ := s.asks(name)
	return got
}

func (s *playedServer) wakes() []string {
	synctest.Wait()
	names := lists.Map(slices.Collect(maps.Keys(s.woken)), func(k queue.Key) string { return k.Name })
	clear(s.woken)
	slices.Sort(names)
	return names
}

func TestQuestions(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *playedServer){
		"an answer at once is in the first reconciliation":          answeredAtOnce,
		"all wait for one question, for a second":                   waitsForOneQuestion,
		"a reconciliation waits a second for all answers":           waitsASecond,
		"a question ends, and is repeated after a pause that grows": asksAfterPauses,
		"the last answer stays":                                     keepsTheLastAnswer,
		"a change asks again at once":                               asksAgain,
		"a change while a question is asked makes its answer void":  dropsAVoidAnswer,
		"a late answer that is void queues":                         queuesAfterAVoidAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, playServer())
				<-time.After(askTimeout) // all questions end
			})
		})
	}
}

func answeredAtOnce(t *testing.T, s *playedServer) {
	installtest.Same(t, "the answer", "one", s.answered("a", "one"))
	installtest.None(t, "what is queued", s.wakes())
	if got, took := s.asks("b"); got != "one" || took != 0 || s.began != 1 {
		t.Errorf("the answer is %q after %s and %d questions", got, took, s.began)
	}
	<-time.After(MaxAge)
	installtest.Same(t, "the answer", "two", s.answered("a", "two"))
	installtest.Same(t, "questions", 2, s.began)
}

func waitsForOneQuestion(t *testing.T, s *playedServer) {
	for range 40 {
		go s.asks("a")
	}
	<-time.After(answerWait)
	synctest.Wait()
	if _, took := s.asks("b"); took != 0 || s.began != 1 {
		t.Errorf("the next waits %s, %d questions", took, s.began)
	}
	s.answers <- "one"
	installtest.Same(t, "queued", []string{"a", "b"}, s.wakes())
}

func waitsASecond(t *testing.T, s *playedServer) {
	by, began := NewAsker(queue.Key{}), time.Now()
	for _, subject := range []string{"v1", "v2", "v3"} {
		s.Of(subject, by, MaxAge)
	}
	installtest.Same(t, "the wait", answerWait, time.Since(began))
}

func asksAfterPauses(t *testing.T, s *playedServer) {
	for range int(10 * time.Minute / time.Second) {
		s.asks("a")
		<-time.After(time.Second)
	}
	if s.began < 20 || s.began > 30 || s.ended < s.began-1 {
		t.Errorf("%d questions in 10 minutes, %d ended", s.began, s.ended)
	}
	installtest.None(t, "what is queued", s.wakes())
}

func keepsTheLastAnswer(t *testing.T, s *playedServer) {
	s.answered("a", "one")
	s.Announce("v1")
	installtest.Same(t, "the answer after a failure", "one", s.answered("a", ""))
	<-time.After(time.Minute)
	if got, took := s.asks("a"); got != "one" || took != answerWait {
		t.Errorf("without an answer it is %q after %s", got, took)
	}
	<-time.After(time.Minute)
	if got, took := s.asks("a"); got != "one" || took != 0 {
		t.Errorf("of one that was slow it is %q after %s", got, took)
	}
	s.answers <- "one"
	installtest.None(t, "what is queued", s.wakes())
}

func asksAgain(t *testing.T, s *playedServer) {
	s.answered("a", "one")
	s.Announce("v1")
	installtest.Same(t, "the answer", "two", s.answered("a", "two"))
	<-time.After(MaxAge)
	s.answered("a", "")
	s.Announce("v1")
	installtest.Same(t, "the answer after a failure", "three", s.answered("a", "three"))
}

func dropsAVoidAnswer(t *testing.T, s *playedServer) {
	go func() {
		synctest.Wait()
		s.Announce("v1")
		s.answers <- "before"
		s.answers <- "after"
	}()
	got, _ := s.asks("a")
	installtest.Same(t, "the answer", "after", got)
}

func queuesAfterAVoidAnswer(t *testing.T, s *playedServer) {
	s.answered("a", "one")
	<-time.After(time.Minute)
	s.asks("a")
	s.Announce("v1")
	s.answers <- "one"
	installtest.Same(t, "queued", []string{"a"}, s.wakes())
}
