package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/operatortest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestControllerLabelsWhatIsThere(t *testing.T) {
	client := fake.NewClientset(
		volume("labelled", "vol-1", map[string]string{"zone": "north", "mine": "stays"}),
		volume("half", "vol-1", map[string]string{"mine": "stays"}),
		volume("other", "vol-1", map[string]string{"zone": "south"}),
		volume("unknown", "vol-9", nil),
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "local"}},
	)
	known := known{{Driver: "d", Handle: "vol-1"}: {"zone": "north", "region": "cold"}}
	runController(t, client, known)

	for name, want := range map[string]map[string]string{
		"labelled": {"zone": "north", "region": "cold", "mine": "stays"},
		"half":     {"zone": "north", "region": "cold", "mine": "stays"},
		"other":    {"zone": "south", "region": "cold"},
	} {
		operatortest.Eventually(t, name+" has its labels", func() bool { return cmp.Equal(want, labelsOf(t, client, name)) })
	}
	for _, name := range []string{"unknown", "local"} {
		installtest.Same(t, "the number of labels of "+name, 0, len(labelsOf(t, client, name)))
	}
}

func TestControllerTriesAgain(t *testing.T) {
	client := fake.NewClientset(volume("pv", "vol-1", nil))
	var conflicts atomic.Int32
	client.PrependReactor("patch", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts.Add(1) > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumes"}, "pv", errors.New("changed meanwhile"))
	})
	p := &failingOnce{known: known{{Driver: "d", Handle: "vol-1"}: {"zone": "north"}}}
	runController(t, client, p)
	operatortest.Eventually(t, "pv is labelled", func() bool { return labelsOf(t, client, "pv")["zone"] == "north" })
	if !p.failed.Load() || conflicts.Load() < 2 {
		t.Errorf("the provider failed: %v; writes: %d", p.failed.Load(), conflicts.Load())
	}
}

type known labelling.Catalogue

func (k known) Labels(_ context.Context, volume labelling.Volume) (map[string]string, bool, error) {
	labels, found := k[volume]
	return labels, found, nil
}

type failingOnce struct {
	known
	failed atomic.Bool
}

func (f *failingOnce) Labels(ctx context.Context, volume labelling.Volume) (map[string]string, bool, error) {
	if f.failed.CompareAndSwap(false, true) {
		return nil, false, errors.New("not now")
	}
	return f.known.Labels(ctx, volume)
}

func runController(t *testing.T, client *fake.Clientset, p provider) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- (&controller{provider: p, resync: time.Hour}).Run(ctx, hosting.Environment{Client: client})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the controller does not end")
		}
	})
}

func volume(name, handle string, labels map[string]string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: handle}
	return pv
}

func labelsOf(t *testing.T, client *fake.Clientset, name string) map[string]string {
	t.Helper()
	pv, err := client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
	installtest.Must(t, err)
	return pv.Labels
}
