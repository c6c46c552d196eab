package controller

import (
	"slices"
	"testing"
)

// What is urgent is looked at before what waits already, what is no news after it, and
// everything once.
func TestLanes(t *testing.T) {
	of := func(name string) key { return key{kind: csvKind, name: name} }
	for name, test := range map[string]struct {
		do   func(*lanes)
		want []string
	}{
		"in their order": {func(l *lanes) { l.Push(of("a")); l.Push(of("b")) }, []string{"a", "b"}},
		"an urgent one comes first": {func(l *lanes) {
			l.Push(of("a"))
			l.ask(of("b"), urgent)
			l.Push(of("b"))
		}, []string{"b", "a"}},
		"one that waits gets urgent": {func(l *lanes) {
			l.Push(of("a"))
			l.Push(of("b"))
			l.ask(of("b"), urgent)
			l.Touch(of("b"))
			l.Touch(of("b"))
		}, []string{"b", "a"}},
		"one that waits is added again": {func(l *lanes) {
			l.Push(of("a"))
			l.Push(of("b"))
			l.Touch(of("b"))
		}, []string{"a", "b"}},
		"urgent ones in their order": {func(l *lanes) {
			for _, name := range []string{"a", "b"} {
				l.ask(of(name), urgent)
				l.Push(of(name))
			}
		}, []string{"a", "b"}},
		"urgent no more, once it was looked at": {func(l *lanes) {
			l.Push(of("a"))
			l.ask(of("b"), urgent)
			l.Push(of("b"))
			l.Pop()
			l.Push(of("b"))
		}, []string{"a", "b"}},
		"what is no news waits for all others": {func(l *lanes) {
			l.ask(of("a"), spare)
			l.Push(of("a"))
			l.Push(of("b"))
			l.Push(of("c"))
		}, []string{"b", "c", "a"}},
		"and is news together with news": {func(l *lanes) {
			l.ask(of("a"), spare)
			l.ask(of("a"), regular)
			l.ask(of("a"), spare)
			l.Push(of("a"))
			l.Push(of("b"))
		}, []string{"a", "b"}},
		"news comes while it waits": {func(l *lanes) {
			l.ask(of("a"), spare)
			l.Push(of("a"))
			l.Push(of("b"))
			l.ask(of("a"), regular)
			l.Touch(of("a"))
			l.ask(of("a"), spare)
			l.Touch(of("a"))
			l.Push(of("c"))
		}, []string{"b", "a", "c"}},
		"no news, once it was looked at": {func(l *lanes) {
			l.Push(of("a"))
			l.Pop()
			l.ask(of("a"), spare)
			l.Push(of("a"))
			l.Push(of("b"))
		}, []string{"b", "a"}},
		"turned away before it comes": {func(l *lanes) {
			l.heed(of("a"))
			l.ask(of("a"), spare)
			l.Push(of("a"))
			l.Push(of("b"))
		}, []string{"a", "b"}},
		"turned away after it came": {func(l *lanes) {
			l.ask(of("a"), spare)
			l.heed(of("a"))
			l.Push(of("a"))
			l.Push(of("b"))
		}, []string{"a", "b"}},
		"back in line, where its place was passed over": {func(l *lanes) {
			l.Push(of("a"))
			l.ask(of("a"), urgent)
			l.Touch(of("a"))
			l.Pop()
			l.Push(of("b"))
			l.Push(of("a"))
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
