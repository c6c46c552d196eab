package informers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Only an object exactly as the reconciliation created it is an echo.
func TestIsEcho(t *testing.T) {
	service := func(uid, version string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "server", UID: types.UID(uid), ResourceVersion: version}}
	}
	k, other := queue.CSVKey("shop", "operator.v1"), queue.CSVKey("shop", "other.v1")
	for name, test := range map[string]struct {
		written Write
		key     queue.Key
		shown   *corev1.Service
		want    bool
	}{
		"created":               {Write{Object: service("1", "5")}, k, service("1", "5"), true},
		"created, then changed": {Write{Object: service("1", "5")}, k, service("1", "6"), false},
		"another of that name":  {Write{Object: service("1", "5")}, k, service("2", "5"), false},
		"written for another":   {Write{Object: service("1", "5")}, other, service("1", "5"), false},
		"changed by it":         {Write{Object: service("1", "5"), Changed: true}, k, service("1", "5"), false},
		"deleted by it":         {Write{Object: service("1", "5"), Deleted: true}, k, service("1", "5"), false},
	} {
		t.Run(name, func(t *testing.T) {
			var e Expectations
			e.Add(k, test.written)
			installtest.Same(t, "an echo", test.want, e.IsEcho(test.key, test.shown))
		})
	}
}

// A reconciliation waits for the caches at most for the grace period.
func TestGrace(t *testing.T) {
	now := time.Now()
	for _, grace := range []time.Duration{time.Second, time.Hour} {
		e, k := &Expectations{Grace: grace}, queue.CSVKey("shop", "operator.v1")
		e.Add(k, Write{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "no cache has it"}}, At: now})
		installtest.Same(t, "the grace ends early", false, e.Fulfilled(k, &Caches{}, now.Add(grace-1)))
		installtest.Same(t, "the grace ends", true, e.Fulfilled(k, &Caches{}, now.Add(grace)))
	}
}

// The caches show a deletion also when finalizers keep the object.
func TestDeletionIsShown(t *testing.T) {
	now, k := time.Now(), queue.CSVKey("shop", "operator.v1")
	for name, test := range map[string]struct {
		cached []*corev1.Service
		want   bool
	}{
		"deleted":                {nil, true},
		"not shown yet":          {[]*corev1.Service{{ObjectMeta: metav1.ObjectMeta{UID: "1"}}}, false},
		"recreated":              {[]*corev1.Service{{ObjectMeta: metav1.ObjectMeta{UID: "2"}}}, true},
		"kept by its finalizers": {[]*corev1.Service{{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: new(metav1.NewTime(now))}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore[*corev1.Service](nil, cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Service{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
			for _, o := range test.cached {
				o.Namespace, o.Name = "shop", "server"
				installtest.Must(t, store.Informers[0].GetStore().Add(o))
			}
			e := &Expectations{Grace: time.Hour}
			e.Add(k, Write{Object: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "server", UID: "1"}}, Deleted: true, At: now})
			installtest.Same(t, "shown", test.want, e.Fulfilled(k, &Caches{Services: store}, now))
		})
	}
}
