package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// slowKeys is a SlowKeys whose clock stands, and what it added.
type slowKeys struct {
	*SlowKeys
	t     *testing.T
	clock time.Time
	added []string
}

func newSlowKeys(t *testing.T, workers int) *slowKeys {
	s := &slowKeys{t: t, clock: time.Now()}
	s.SlowKeys = NewSlowKeys(workers, func() time.Time { return s.clock }, func(k Key) { s.added = append(s.added, k.Name) })
	return s
}

// start returns nil if the key waits.
func (s *slowKeys) start(k Key) func(time.Duration) {
	end, _ := s.Start(k)
	return end
}

// slowOnes returns keys whose last reconciliation was slow.
func (s *slowKeys) slowOnes(namespace string, n int) (keys []Key) {
	for i := range n {
		k := CSVKey(namespace, fmt.Sprint(namespace, "-", i))
		s.start(k)(slowAfter)
		keys = append(keys, k)
	}
	return keys
}

func (s *slowKeys) expectAdded(when string, want ...Key) {
	s.t.Helper()
	keys := lists.Map(want, func(k Key) string { return k.Name })
	installtest.Same(s.t, when+", added", keys, s.added)
	s.added = nil
}

func (s *slowKeys) expectWaits(keys ...Key) {
	s.t.Helper()
	for _, k := range keys {
		if s.start(k) != nil {
			s.t.Errorf("%v starts", k)
		}
	}
}

// Two of eight workers reconcile slow keys of one namespace. The others wait in the order of their arrival.
func TestSlowKeys(t *testing.T) {
	s := newSlowKeys(t, 8)
	keys := s.slowOnes("shop", 4)
	first, second := s.start(keys[0]), s.start(keys[1])
	s.expectWaits(keys[2], keys[3], keys[2])
	s.start(CSVKey("shop", "quick"))(0)
	s.expectAdded("while the limit is reached")
	first(slowAfter)
	s.expectAdded("after the first ended", keys[2])
	third := s.start(keys[2])
	s.expectWaits(keys[0])
	second(0)
	s.expectAdded("after the second ended", keys[3])
	third(0)
	s.expectAdded("after the third ended", keys[0])
	s.start(keys[3])(0)
	s.expectAdded("while none waits")
}

// Four of eight workers reconcile slow keys of all namespaces, so that other keys are reconciled.
func TestSlowKeysOfSeveralNamespaces(t *testing.T) {
	s := newSlowKeys(t, 8)
	shop, mall, park := s.slowOnes("shop", 2), s.slowOnes("mall", 2), s.slowOnes("park", 1)
	end := s.start(shop[0])
	for _, k := range []Key{shop[1], mall[0], mall[1]} {
		s.start(k)
	}
	s.expectWaits(park[0])
	end(slowAfter)
	s.expectAdded("after one of another namespace ended", park[0])
}

// A key with quick and slow reconciliations stays slow. It is forgotten minutes after the last slow one.
func TestKeyStaysSlow(t *testing.T) {
	s := newSlowKeys(t, 4)
	keys := s.slowOnes("shop", 2)
	s.start(keys[0])(0)
	end := s.start(keys[0])
	s.expectWaits(keys[1])
	s.clock = s.clock.Add(slowFor)
	installtest.Same(t, "a key is slow for ever", false, s.start(keys[1]) == nil)
	end(slowAfter)
	s.expectAdded("after the end", keys[1])
	installtest.Same(t, "the number of remembered keys", 1, len(s.slow))
}

// A key that waited and is not slow any more leaves its place to the next one.
func TestKeyThatIsNoLongerSlow(t *testing.T) {
	s := newSlowKeys(t, 4)
	keys := s.slowOnes("shop", 3)
	end := s.start(keys[0])
	s.expectWaits(keys[1:]...)
	s.clock = s.clock.Add(slowFor)
	end(slowAfter)
	s.expectAdded("after the end", keys[1])
	s.start(keys[1])(0)
	s.expectAdded("after the quick one", keys[2])
}
