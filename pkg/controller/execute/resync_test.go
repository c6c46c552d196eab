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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
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
	answered := time.Unix(1_000_000, 1)
	sent := answered.Add(-time.Second)
	for name, c := range map[string]struct {
		kept string // the annotation in the answer
		err  error
		want time.Time
	}{
		"annotation kept":     {sent.Format(time.RFC3339Nano), nil, sent},
		"annotation removed":  {"", nil, answered},
		"annotation restored": {"2026-01-02T03:04:05Z", nil, answered},
		"annotation refused":  {"", apierrors.NewForbidden(pods, "a", errors.New("denied")), answered},
		"pod changed":         {"", apierrors.NewConflict(pods, "a", errors.New("changed")), time.Time{}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1", Annotations: map[string]string{wellknown.AnnotationResyncedAt: "2026-01-02T03:04:05Z"}}}
		kube := fake.NewClientset()
		kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			written := pod.DeepCopy()
			written.Annotations[wellknown.AnnotationResyncedAt] = c.kept
			return true, written, c.err
		})
		now := func() time.Time { return answered }
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
		if at := e.Contested.ResyncedAt(pod); !at.Equal(c.want) {
			t.Errorf("%s: recorded %s, want %s", name, at, c.want)
		}
	}
}
