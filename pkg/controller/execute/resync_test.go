package execute

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// A re-sync is remembered if admission removes the annotation or refuses it, so that it is not repeated
// before it is due. A conflict is retried.
func TestResyncIsRecorded(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, c := range map[string]struct {
		err      error
		recorded bool
	}{
		"annotation removed": {nil, true},
		"annotation refused": {apierrors.NewForbidden(pods, "a", errors.New("denied")), true},
		"pod changed":        {apierrors.NewConflict(pods, "a", errors.New("changed")), false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1"}}
		kube := fake.NewClientset()
		kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, pod.DeepCopy(), c.err
		})
		now := func() time.Time { return time.Unix(1_000_000, 1) }
		log := logrus.New()
		log.SetOutput(io.Discard)
		e := &Executor{
			Records: &records.Records{}, Writes: &informers.Expectations{}, Log: logrus.NewEntry(log),
			Metrics: metrics.New(prometheus.NewRegistry()), Now: now,
		}
		r := &run{Executor: e, csv: installtest.Operator(nil), sender: &write.Sender{Writer: &write.Writer{Set: clients.Set{Kube: kube}, Now: now}}}
		step := rollout.Step{Verb: rollout.ResyncVolumes, Object: pod, Live: pod}
		if _, err := r.apply(t.Context(), decide.Plan{Plan: rollout.Plan{Steps: []rollout.Step{step}}}); err != nil {
			t.Fatal(err)
		}
		if at := e.Contested.ResyncedAt(pod); at.Equal(now()) != c.recorded {
			t.Errorf("%s: recorded %s", name, at)
		}
	}
}
