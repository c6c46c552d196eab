package kube

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Another API server has the same objects. While it is held, it shows them as they were.
func TestAnotherAPIServer(t *testing.T) {
	client := newClient(t, cluster.Config())
	another := cluster.AnotherAPIServer(t)
	behind := newClient(t, another.Config())
	object := configMap(t)
	object.Data = map[string]string{"state": "first"}
	Create(t, client.CoreV1().ConfigMaps(metav1.NamespaceDefault), object)
	shown := func() string {
		// From the watch cache of the API server.
		live, err := behind.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), object.Name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil {
			return err.Error()
		}
		return live.Data["state"]
	}
	write := func(state string) *corev1.ConfigMap {
		t.Helper()
		live := Get(t, client.CoreV1().ConfigMaps(metav1.NamespaceDefault), object.Name)
		live.Data["state"] = state
		return Update(t, client.CoreV1().ConfigMaps(metav1.NamespaceDefault), live)
	}
	eventually(t, "the other API server has the object", func() bool { return shown() == "first" })
	another.Hold()
	write("second")
	changed := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Second, true, func(context.Context) (bool, error) { return shown() != "first", nil })
	if !wait.Interrupted(changed) {
		t.Fatalf("a held API server shows the change: %v", changed)
	}
	another.Release()
	eventually(t, "the other API server has the change", func() bool { return shown() == "second" })
}
