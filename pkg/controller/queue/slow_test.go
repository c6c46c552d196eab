package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSlowKeys(t *testing.T) {
	var added []Key
	s := NewSlowKeys(2, func(k Key) { added = append(added, k) })
	keys := make([]Key, 5)
	for i := range keys {
		keys[i] = CSVKey("shop", fmt.Sprint("operator-", i))
	}
	start := func(k Key, want bool) func(time.Duration, bool) {
		t.Helper()
		end, ok := s.Start(k)
		if ok != want {
			t.Fatalf("%v starts: %v, want %v", k, ok, want)
		}
		return end
	}
	for _, k := range keys {
		defer start(k, true)(slowAfter, true) // of five workers, as no key is known to be slow
	}
	for _, k := range keys {
		s.slow[k] = true
	}
	first, second := start(keys[0], true), start(keys[1], true)
	start(keys[2], false)
	start(keys[3], false)
	start(keys[2], false)
	start(CSVKey("shop", "quick"), true)(0, true)
	start(CSVKey("mall", "slow"), true)(slowAfter, true)
	start(CSVKey("mall", "slow"), true)(slowAfter, true)
	if len(added) > 0 {
		t.Errorf("%v were added while the limit was reached", added)
	}

	first(slowAfter, true)
	installtest.Same(t, "added after the first ended", keys[2:3], added)
	third := start(keys[2], true)
	start(keys[0], false)
	second(0, true)
	installtest.Same(t, "added after the second ended", keys[2:4], added)
	start(keys[1], true)(0, true) // it is not slow any more
	installtest.Same(t, "added at the end", []Key{keys[2], keys[3], keys[0]}, added)
	start(keys[3], true)(0, true)
	third(0, true)
	if len(added) != 3 {
		t.Errorf("%v were added while none waited", added)
	}
}

// A key that waited and is not slow any more leaves its place to the next one.
func TestKeyThatIsNoLongerSlow(t *testing.T) {
	var added []Key
	s := NewSlowKeys(1, func(k Key) { added = append(added, k) })
	a, b, c := CSVKey("shop", "a"), CSVKey("shop", "b"), CSVKey("shop", "c")
	s.slow[a], s.slow[b], s.slow[c] = true, true, true
	end, _ := s.Start(a)
	s.Start(b)
	s.Start(c)
	delete(s.slow, b)
	end(slowAfter, true)
	if end, ok := s.Start(b); ok {
		end(0, true)
	}
	if len(added) != 2 || added[1] != c {
		t.Errorf("%v were added", added)
	}
}

// A reconciliation that only waits for the caches does not show that a key is quick.
func TestKeyThatStaysSlow(t *testing.T) {
	s := NewSlowKeys(1, func(Key) {})
	a, b := CSVKey("shop", "a"), CSVKey("shop", "b")
	s.slow[a], s.slow[b] = true, true
	end, _ := s.Start(a)
	end(0, false)
	if _, ok := s.Start(a); !ok {
		t.Fatal("the key does not start again")
	}
	if _, ok := s.Start(b); ok {
		t.Error("the first key is not counted as slow")
	}
}
