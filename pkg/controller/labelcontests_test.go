package controller

import (
	"strings"
	"testing"
	"time"
)

// The same change again and again is a contest; another change is not held, and neither is another Namespace.
func TestLabelContests(t *testing.T) {
	var l labelContests
	now := time.Unix(1_000_000, 0)
	add := []string{"a"}
	for range 4 { // the first write, and three repairs
		if held, _, _ := l.held("shop", add, nil, now); len(held) > 0 {
			t.Fatalf("held too early: %v", held)
		}
		l.wrote("shop", add, nil, now)
	}
	held, until, why := l.held("shop", []string{"a", "b"}, nil, now)
	if len(held) != 1 || held[0] != "a" || !until.Equal(now.Add(time.Minute)) || !strings.Contains(why, "Namespace shop") {
		t.Errorf("held %v until %v: %s", held, until, why)
	}
	for name, labels := range map[string][]string{"removed": nil, "elsewhere": add} {
		namespace, remove := "shop", add
		if labels != nil {
			namespace, remove = "mall", nil
		}
		if held, _, _ := l.held(namespace, labels, remove, now); len(held) > 0 {
			t.Errorf("%s: held %v", name, held)
		}
	}
	if held, _, _ := l.held("shop", add, nil, now.Add(2*time.Minute)); len(held) > 0 {
		t.Errorf("held for ever: %v", held)
	}
	l.forget("shop")
	if held, _, _ := l.held("shop", add, nil, now); len(held) > 0 {
		t.Errorf("held after the Namespace is gone: %v", held)
	}
}
