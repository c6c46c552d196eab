package controller

import (
	"fmt"
	"slices"
	"testing"
)

// add does what the queue does with a key that is not being looked at.
func (l *lanes) add(name string, wanted lane) {
	k := key{kind: csvKind, name: name}
	l.ask(k, wanted)
	if _, waits := l.waits[k]; waits {
		l.Touch(k)
	} else {
		l.Push(k)
	}
}

// What is urgent is looked at before what waits already, what is no news after it, and
// everything once.
func TestLanes(t *testing.T) {
	a := key{kind: csvKind, name: "a"}
	for name, test := range map[string]struct {
		do   func(*lanes)
		want []string
	}{
		"in their order": {func(l *lanes) {
			l.add("a", regular)
			l.add("b", regular)
		}, []string{"a", "b"}},
		"an urgent one comes first": {func(l *lanes) {
			l.add("a", regular)
			l.add("b", urgent)
		}, []string{"b", "a"}},
		"one that waits gets urgent": {func(l *lanes) {
			l.add("a", regular)
			l.add("b", regular)
			l.add("b", urgent)
			l.add("b", regular)
		}, []string{"b", "a"}},
		"one that waits is added again": {func(l *lanes) {
			l.add("a", regular)
			l.add("b", regular)
			l.add("b", regular)
		}, []string{"a", "b"}},
		"urgent ones in their order": {func(l *lanes) {
			l.add("a", urgent)
			l.add("b", urgent)
		}, []string{"a", "b"}},
		"urgent no more, once it was looked at": {func(l *lanes) {
			l.add("a", regular)
			l.add("b", urgent)
			l.Pop()
			l.add("b", regular)
		}, []string{"a", "b"}},
		"what is no news waits for all others": {func(l *lanes) {
			l.add("a", spare)
			l.add("b", regular)
			l.add("c", urgent)
		}, []string{"c", "b", "a"}},
		"what comes back by the clock, too": {func(l *lanes) {
			l.Push(a)
			l.add("b", regular)
		}, []string{"b", "a"}},
		"news comes while it waits": {func(l *lanes) {
			l.add("a", spare)
			l.add("b", regular)
			l.add("a", regular)
			l.add("a", spare)
			l.add("c", regular)
		}, []string{"b", "a", "c"}},
		"news comes while it is being looked at": {func(l *lanes) {
			l.ask(a, spare)
			l.ask(a, regular)
			l.ask(a, spare)
			l.Push(a)
			l.add("b", regular)
		}, []string{"a", "b"}},
		"no news, once it was looked at": {func(l *lanes) {
			l.add("a", regular)
			l.Pop()
			l.add("a", spare)
			l.add("b", regular)
		}, []string{"b", "a"}},
		"back in line, where its place was passed over": {func(l *lanes) {
			l.add("a", regular)
			l.add("a", urgent)
			l.Pop()
			l.add("b", regular)
			l.add("a", regular)
		}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLanes()
			test.do(l)
			var got []string
			for l.Len() > 0 {
				got = append(got, l.Pop().name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("looked at %v, want %v", got, test.want)
			}
		})
	}
}

// However much is new, what is not gets its turn.
func TestTheSpareLaneMoves(t *testing.T) {
	l := newLanes()
	l.add("waits", spare)
	for i := range 2 * spareShare {
		l.add(fmt.Sprint(i), regular)
	}
	for i := range spareShare {
		if l.Pop().name == "waits" && i == spareShare-1 {
			return
		}
	}
	t.Errorf("it is not the %dth", spareShare)
}
