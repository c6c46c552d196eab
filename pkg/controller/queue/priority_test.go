package queue

import (
	"fmt"
	"slices"
	"testing"
)

// add does what the work queue does with a key that is not being reconciled.
func (q *priorityQueue) add(name string, wanted Priority) {
	k := Key{Kind: CSV, Name: name}
	q.raise(k, wanted)
	if _, waits := q.waits[k]; waits {
		q.Touch(k)
	} else {
		q.Push(k)
	}
}

// What is urgent is looked at before what waits already, what is no change after it, and
// everything once.
func TestPriorities(t *testing.T) {
	a := Key{Kind: CSV, Name: "a"}
	for name, test := range map[string]struct {
		do   func(*priorityQueue)
		want []string
	}{
		"in their order": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"an urgent one comes first": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Urgent)
		}, []string{"b", "a"}},
		"one that waits gets urgent": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
			q.add("b", Urgent)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"one that waits is added again": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"urgent ones in their order": {func(q *priorityQueue) {
			q.add("a", Urgent)
			q.add("b", Urgent)
		}, []string{"a", "b"}},
		"urgent no more, once it was handed out": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Urgent)
			q.Pop()
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"what is no change waits for all others": {func(q *priorityQueue) {
			q.add("a", Low)
			q.add("b", Regular)
			q.add("c", Urgent)
		}, []string{"c", "b", "a"}},
		"a delayed key, too": {func(q *priorityQueue) {
			q.Push(a)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"a change comes while it waits": {func(q *priorityQueue) {
			q.add("a", Low)
			q.add("b", Regular)
			q.add("a", Regular)
			q.add("a", Low)
			q.add("c", Regular)
		}, []string{"b", "a", "c"}},
		"a change comes while it is being reconciled": {func(q *priorityQueue) {
			q.raise(a, Low)
			q.raise(a, Regular)
			q.raise(a, Low)
			q.Push(a)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"no change, once it was handed out": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.Pop()
			q.add("a", Low)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"back in line, where its entry is stale": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("a", Urgent)
			q.Pop()
			q.add("b", Regular)
			q.add("a", Regular)
		}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := newPriorityQueue()
			test.do(q)
			var got []string
			for q.Len() > 0 {
				got = append(got, q.Pop().Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("handed out %v, want %v", got, test.want)
			}
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
