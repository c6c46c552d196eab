package execute

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
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

// Webhooks that do not answer use up neither a reconciliation nor its report, however many objects they
// must review.
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
		ctx, cancel := context.WithTimeout(t.Context(), prober.PassTimeout)
		defer cancel()
		outcome, err := e.Run(ctx, queue.CSVKey(csv.Namespace, csv.Name), facts)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%v, %v", err, ctx.Err())
		}
		if !write.IsUnanswered(outcome.Deferred) {
			t.Errorf("the reconciliation ends with %v", outcome.Deferred)
		}
		for _, object := range []string{"Service shop/manager-service", "Secret shop/manager-service-cert", "Deployment shop/manager"} {
			if !strings.Contains(outcome.Deferred.Error(), object) {
				t.Errorf("%s is not in %v", object, outcome.Deferred)
			}
		}
		if d := outcome.Status.Deployments; len(d) != 1 || !strings.Contains(d[0].Message, "does not answer") {
			t.Errorf("the status is %+v", d)
		}
	})
}
