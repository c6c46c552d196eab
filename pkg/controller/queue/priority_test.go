package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func (q *priorityQueue) add(name string, priority Priority) {
	k := Key{Kind: CSV, Name: name}
	q.raise(k, priority)
	if _, waits := q.waits[k]; waits {
		q.Touch(k)
	} else {
		q.Push(k)
	}
}

// Urgent keys come before waiting keys, unchanged keys after them, and each key once.
func TestPriorities(t *testing.T) {
	type step func(*priorityQueue)
	a := Key{Kind: CSV, Name: "a"}
	add := func(name string, priority Priority) step { return func(q *priorityQueue) { q.add(name, priority) } }
	raise := func(priority Priority) step { return func(q *priorityQueue) { q.raise(a, priority) } }
	push, pop := func(q *priorityQueue) { q.Push(a) }, func(q *priorityQueue) { q.Pop() }
	for name, test := range map[string]struct {
		do   []step
		want string
	}{
		"in their order":                     {[]step{add("a", Regular), add("b", Regular)}, "a b"},
		"urgent first":                       {[]step{add("a", Regular), add("b", Urgent)}, "b a"},
		"a waiting key becomes urgent":       {[]step{add("a", Regular), add("b", Regular), add("b", Urgent), add("b", Regular)}, "b a"},
		"a waiting key is added again":       {[]step{add("a", Regular), add("b", Regular), add("b", Regular)}, "a b"},
		"urgent keys in order":               {[]step{add("a", Urgent), add("b", Urgent)}, "a b"},
		"not urgent after it was reconciled": {[]step{add("a", Regular), add("b", Urgent), pop, add("b", Regular)}, "a b"},
		"unchanged keys last":                {[]step{add("a", Low), add("b", Regular), add("c", Urgent)}, "c b a"},
		"a delayed key":                      {[]step{push, add("b", Regular)}, "b a"},
		"changed while it waits":             {[]step{add("a", Low), add("b", Regular), add("a", Regular), add("a", Low), add("c", Regular)}, "b a c"},
		"changed while it is reconciled":     {[]step{raise(Low), raise(Regular), raise(Low), push, add("b", Regular)}, "a b"},
		"unchanged after it was reconciled":  {[]step{add("a", Regular), pop, add("a", Low), add("b", Regular)}, "b a"},
		"added again with a stale entry":     {[]step{add("a", Regular), add("a", Urgent), pop, add("b", Regular), add("a", Regular)}, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newPriorityQueue()
			for _, do := range test.do {
				do(q)
			}
			var got []string
			for q.Len() > 0 {
				got = append(got, q.Pop().Name)
			}
			installtest.Same(t, "handed out", test.want, strings.Join(got, " "))
		})
	}
}

// A key of low priority does not wait for all others.
func TestLowPriorityKeysAreNotStarved(t *testing.T) {
	q := newPriorityQueue()
	q.add("waits", Low)
	for i := range 2 * lowShare {
		q.add(fmt.Sprint(i), Regular)
	}
	for i := range lowShare {
		if q.Pop().Name == "waits" && i == lowShare-1 {
			return
		}
	}
	t.Errorf("it is not the %dth", lowShare)
}
