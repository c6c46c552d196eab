package execute

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// The decisions about openings that a reconciliation makes before it fails are not lost: endpoints may be ready now.
func TestFailedRunReturnsDecisionsAboutOpenings(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("the storage does not answer"))
	})
	log := logrus.New()
	log.SetOutput(io.Discard)
	set, entry := clients.Set{Kube: kube}, logrus.NewEntry(log)
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
	k := queue.CSVKey(csv.Namespace, csv.Name)
	outcome, err := e.Run(t.Context(), k, facts)
	installtest.Same(t, "the reconciliation fails", true, err != nil)
	installtest.Same(t, "the number of decisions", len(csv.Spec.WebhookDefinitions), len(outcome.FailOpen))
	ended, end := context.WithCancel(t.Context())
	end()
	outcome, err = e.Run(ended, k, facts)
	installtest.Same(t, "the reconciliation that has no time fails", true, err != nil)
	installtest.Same(t, "the decisions without a plan", 0, len(outcome.FailOpen))
}
