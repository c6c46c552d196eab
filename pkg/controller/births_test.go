package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Of some registrations those are told that are remembered, and none is for ever.
func TestBirths(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	born := func(uid types.UID) *corev1.Service { return &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: uid}} }
	var b births
	b.note(born("a"), noon)
	b.note(born("b"), noon.Add(2*birthKept/3))
	if diff := cmp.Diff(map[types.UID]time.Time{"a": noon}, b.of([]types.UID{"a", "c"})); diff != "" {
		t.Errorf("births (-want +got):\n%s", diff)
	}
	b.note(born("c"), noon.Add(4*birthKept/3))
	want := map[types.UID]time.Time{"b": noon.Add(2 * birthKept / 3), "c": noon.Add(4 * birthKept / 3)}
	if diff := cmp.Diff(want, b.of([]types.UID{"a", "b", "c"})); diff != "" {
		t.Errorf("a while later (-want +got):\n%s", diff)
	}
}
