package controller

import (
	"slices"
	"testing"
)

// What is urgent is looked at before what waits already, and everything once.
func TestLanes(t *testing.T) {
	of := func(name string) key { return key{kind: csvKind, name: name} }
	for name, test := range map[string]struct {
		do   func(*lanes)
		want []string
	}{
		"in their order": {func(l *lanes) { l.Push(of("a")); l.Push(of("b")) }, []string{"a", "b"}},
		"an urgent one comes first": {func(l *lanes) {
			l.Push(of("a"))
			l.hurry(of("b"))
			l.Push(of("b"))
		}, []string{"b", "a"}},
		"one that waits gets urgent": {func(l *lanes) {
			l.Push(of("a"))
			l.Push(of("b"))
			l.hurry(of("b"))
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
				l.hurry(of(name))
				l.Push(of(name))
			}
		}, []string{"a", "b"}},
		"urgent no more, once it was looked at": {func(l *lanes) {
			l.Push(of("a"))
			l.hurry(of("b"))
			l.Push(of("b"))
			l.Pop()
			l.Push(of("b"))
		}, []string{"a", "b"}},
		"back in line, where its place was passed over": {func(l *lanes) {
			l.Push(of("a"))
			l.hurry(of("a"))
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
