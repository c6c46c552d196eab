package queue

import (
	"fmt"
	"slices"
	"testing"
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
	a := Key{Kind: CSV, Name: "a"}
	for name, test := range map[string]struct {
		do   func(*priorityQueue)
		want []string
	}{
		"in their order": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"urgent first": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Urgent)
		}, []string{"b", "a"}},
		"a waiting key becomes urgent": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
			q.add("b", Urgent)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"a waiting key is added again": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Regular)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"urgent keys in order": {func(q *priorityQueue) {
			q.add("a", Urgent)
			q.add("b", Urgent)
		}, []string{"a", "b"}},
		"not urgent after it was reconciled": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.add("b", Urgent)
			q.Pop()
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"unchanged keys last": {func(q *priorityQueue) {
			q.add("a", Low)
			q.add("b", Regular)
			q.add("c", Urgent)
		}, []string{"c", "b", "a"}},
		"a delayed key": {func(q *priorityQueue) {
			q.Push(a)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"changed while it waits": {func(q *priorityQueue) {
			q.add("a", Low)
			q.add("b", Regular)
			q.add("a", Regular)
			q.add("a", Low)
			q.add("c", Regular)
		}, []string{"b", "a", "c"}},
		"changed while it is reconciled": {func(q *priorityQueue) {
			q.raise(a, Low)
			q.raise(a, Regular)
			q.raise(a, Low)
			q.Push(a)
			q.add("b", Regular)
		}, []string{"a", "b"}},
		"unchanged after it was reconciled": {func(q *priorityQueue) {
			q.add("a", Regular)
			q.Pop()
			q.add("a", Low)
			q.add("b", Regular)
		}, []string{"b", "a"}},
		"added again with a stale entry": {func(q *priorityQueue) {
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
