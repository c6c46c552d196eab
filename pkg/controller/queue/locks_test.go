package queue

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Keys that wait for a namespace are added in turn, each once, also if the added one does not lock the namespace.
func TestLocks(t *testing.T) {
	var added []string
	l := NewLocks(func(k Key) { added = append(added, k.Name) })
	expect := func(when string, want ...string) {
		t.Helper()
		installtest.Same(t, "added "+when, want, added)
	}
	a, b, c, other := CSVKey("shop", "a"), CSVKey("shop", "b"), CSVKey("shop", "c"), CSVKey("other", "d")
	if !l.TryLock(a) || l.TryLock(b) || l.TryLock(c) || l.TryLock(b) || !l.TryLock(other) {
		t.Fatal("two keys of a namespace have its lock, or those of two namespaces have not")
	}
	l.Next("shop")
	expect("while it is locked")
	l.Unlock("shop")
	l.Next("shop")
	expect("unlocked", "b")
	l.Next("shop") // b did not need the lock
	l.Next("shop")
	expect("at the end of the next one", "b", "c")
	if !l.TryLock(b) || l.TryLock(c) {
		t.Error("an unlocked namespace cannot be locked, or a locked one can")
	}
	l.Unlock("shop")
	l.Next("shop")
	expect("a key that waited before", "b", "c", "c")
}
