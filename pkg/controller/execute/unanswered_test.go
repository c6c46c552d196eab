package execute

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/apiservertest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Webhooks that do not answer use up neither a reconciliation nor its report, however many objects they must review.
func TestHungWebhooksAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		set, entry := clients.Set{Kube: apiservertest.Hanging(t)}, logrus.NewEntry(log)
		e := &Executor{
			Set: set, Records: &records.Records{}, Writes: &informers.Expectations{}, Events: record.NewFakeRecorder(100), Log: entry,
			Metrics: metrics.New(prometheus.NewRegistry()), Now: time.Now, Processors: NewProcessors(),
			Live: &live.Reader{Set: set, Log: entry}, Writer: &write.Writer{Set: set, Now: time.Now},
		}
		csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))
		scope := installtest.ScopeOf(csv)
		csv.Finalizers, csv.Annotations = []string{wellknown.FinalizerCSV}, scope.Annotations()
		csv.Status.Phase = operatorsv1alpha1.CSVPhaseInstallReady
		facts := decide.Facts{
			Settings: decide.Settings{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy()},
			CSV:      csv, Scope: scope, Requirements: requirements.Facts{CSV: csv, Targets: scope.Namespaces},
		}
		ctx, cancel := context.WithTimeout(t.Context(), prober.ReconcileTimeout)
		defer cancel()
		outcome, err := e.Run(ctx, queue.CSVKey(csv.Namespace, csv.Name), facts)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%v, %v", err, ctx.Err())
		}
		installtest.Same(t, "the write is unanswered", true, write.IsUnanswered(outcome.Deferred))
		installtest.Contains(t, outcome.Deferred.Error(), "Service shop/manager-service", "Secret shop/manager-service-cert", "Deployment shop/manager")
		installtest.Same(t, "the number of Deployments in the status", 1, len(outcome.Status.Deployments))
		installtest.Contains(t, outcome.Status.Deployments[0].Message, "does not answer")
	})
}

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
		_, err := r.apply(t.Context(), decide.Plan{Plan: rollout.Plan{Steps: []rollout.Step{step}}})
		installtest.Must(t, err)
		installtest.Same(t, name, c.want, e.FieldContests.ResyncedAt(pod))
	}
}
