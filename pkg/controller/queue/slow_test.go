package queue

import (
	"fmt"
	"testing"
	"time"
)

func TestSlowKeys(t *testing.T) {
	var added []Key
	s := NewSlowKeys(2, func(k Key) { added = append(added, k) })
	keys := make([]Key, 5)
	for i := range keys {
		keys[i] = CSVKey("shop", fmt.Sprint("operator-", i))
	}
	start := func(k Key, want bool) func(time.Duration) {
		t.Helper()
		end, ok := s.Start(k)
		if ok != want {
			t.Fatalf("%v starts: %v, want %v", k, ok, want)
		}
		return end
	}
	for _, k := range keys {
		defer start(k, true)(slowAfter) // of five workers, as no key is known to be slow
	}
	for _, k := range keys {
		s.slow[k] = true
	}
	first, second := start(keys[0], true), start(keys[1], true)
	start(keys[2], false)
	start(keys[3], false)
	start(keys[2], false)
	start(CSVKey("shop", "quick"), true)(0)
	start(CSVKey("mall", "slow"), true)(slowAfter)
	start(CSVKey("mall", "slow"), true)(slowAfter)
	if len(added) > 0 {
		t.Errorf("%v were added while the limit was reached", added)
	}

	first(slowAfter)
	if len(added) != 1 || added[0] != keys[2] {
		t.Fatalf("%v were added after the first ended", added)
	}
	third := start(keys[2], true)
	start(keys[0], false)
	second(0)
	if len(added) != 2 || added[1] != keys[3] {
		t.Fatalf("%v were added after the second ended", added)
	}
	start(keys[1], true)(0) // it is not slow any more
	if len(added) != 3 || added[2] != keys[0] {
		t.Fatalf("%v were added at the end", added)
	}
	start(keys[3], true)(0)
	third(0)
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
	end(slowAfter)
	if end, ok := s.Start(b); ok {
		end(0)
	}
	if len(added) != 2 || added[1] != c {
		t.Errorf("%v were added", added)
	}
}
