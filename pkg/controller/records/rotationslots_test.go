package records

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Many workers that request slots at once, without seeing each other's rotations, get no more slots than there are.
func TestSlotLimit(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	underWay := []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "c-0", Annotations: map[string]string{wellknown.AnnotationNextStoredAt: now.Format(time.RFC3339Nano)},
	}}}
	var p RotationSlots
	ask := func(i int, at time.Time) bool {
		return p.Reserve(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("c-", i)}, underWay, 3, at) < 3
	}
	count := func(at time.Time) (n int) {
		for i := range 32 {
			if ask(i, at) {
				n++
			}
		}
		return n
	}
	installtest.Same(t, "the number that rotate at once: the one under way and 2 more", 3, count(now))
	if !ask(0, now) || !ask(1, now) || ask(3, now) {
		t.Error("a slot is not kept for its holder, or given twice")
	}
	if n := count(now.Add(slotKept)); n != 3 || ask(31, now.Add(slotKept)) {
		t.Errorf("%d continue when slots that were not taken are free again, want 3", n)
	}
}

// Current rotations are found without reading all Secrets.
func TestCurrentRotationsHaveSlots(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	marked := func(name, annotation string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{annotation: now.Format(time.RFC3339Nano)}}}
	}
	secrets := []*corev1.Secret{marked("begun", wellknown.AnnotationNextStoredAt), marked("promoted", wellknown.AnnotationPromotedAt), marked("stable", "any")}
	var p RotationSlots
	installtest.Same(t, "the number under way", 2, p.Reserve(types.NamespacedName{Namespace: "shop", Name: "another"}, secrets, 3, now))
}
