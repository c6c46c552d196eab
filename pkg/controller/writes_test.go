package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Only what a pass created, just as it created it, is no news to it.
func TestEchoes(t *testing.T) {
	service := func(uid, version string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "server", UID: types.UID(uid), ResourceVersion: version}}
	}
	k, other := key{csvKind, "shop", "operator.v1"}, key{csvKind, "shop", "other.v1"}
	for name, test := range map[string]struct {
		written pendingWrite
		key     key
		shown   *corev1.Service
		want    bool
	}{
		"created":               {pendingWrite{object: service("1", "5")}, k, service("1", "5"), true},
		"created, then changed": {pendingWrite{object: service("1", "5")}, k, service("1", "6"), false},
		"another of that name":  {pendingWrite{object: service("1", "5")}, k, service("2", "5"), false},
		"written for another":   {pendingWrite{object: service("1", "5")}, other, service("1", "5"), false},
		"changed by the pass":   {pendingWrite{object: service("1", "5"), changed: true}, k, service("1", "5"), false},
		"deleted by the pass":   {pendingWrite{object: service("1", "5"), gone: true}, k, service("1", "5"), false},
	} {
		t.Run(name, func(t *testing.T) {
			var w writes
			w.add(k, test.written)
			if got := w.echoes(test.key, test.shown); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// A pass waits for the caches to show what was written for as long as it is told, and no longer.
func TestGraceToTheCaches(t *testing.T) {
	now := time.Now()
	for _, grace := range []time.Duration{time.Second, time.Hour} {
		w, k := writes{grace: grace}, key{csvKind, "shop", "operator.v1"}
		w.add(k, pendingWrite{object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "no cache has it"}}, at: now})
		if w.shown(k, caches{}, now.Add(grace-1)) {
			t.Errorf("a grace of %s ends before its time", grace)
		}
		if !w.shown(k, caches{}, now.Add(grace)) {
			t.Errorf("a grace of %s does not end", grace)
		}
	}
}
