package bundle

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

var oneGigabyte = resource.MustParse("1Gi")

// manage runs the manager until the test ends.
func (e *env) manage(t *testing.T) {
	t.Helper()
	clients, err := controller.NewClients(cluster.Config())
	must(t, err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	c, err := controller.New(clients, &record.FakeRecorder{}, controller.NewMetrics(prometheus.NewRegistry()), logrus.NewEntry(log),
		controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 2})
	must(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running wait.Group
	running.Start(func() {
		if c.Fill(ctx) == nil {
			c.Run(ctx)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

func managerFails(t *testing.T, e *env, b *bundle.Bundle) {
	e.managerSays(t, b, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
}

func managerWaits(t *testing.T, e *env, b *bundle.Bundle) {
	e.managerSays(t, b, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
}

func managerRefusesGroup(t *testing.T, e *env, b *bundle.Bundle) {
	e.managerSays(t, b, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict)
}

// managerSays installs the bundle's ClusterServiceVersion and waits for its verdict.
func (e *env) managerSays(t *testing.T, b *bundle.Bundle, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) {
	t.Helper()
	namespace := "bundle-" + strings.ToLower(string(phase)) + "-" + strings.ReplaceAll(b.CSV.Name, ".", "-")
	e.namespace(t, namespace)
	group := &operatorsv1.OperatorGroup{TypeMeta: metav1.TypeMeta{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup"}, ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: namespace}}
	if err := e.create(t.Context(), group, false); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, a := range bundle.Accounts(b.CSV) {
		account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: namespace}}
		if err := e.create(t.Context(), account, false); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(namespace)
	resource, err := e.resource(csv)
	must(t, err)
	_, err = resource.Create(t.Context(), csv, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		must(t, resource.Delete(ctx, csv.GetName(), metav1.DeleteOptions{}))
		e.eventually(t, "the ClusterServiceVersion is gone", func() bool {
			_, err := resource.Get(ctx, csv.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	e.eventually(t, string(phase)+"/"+string(reason), func() bool {
		live, err := resource.Get(t.Context(), csv.GetName(), metav1.GetOptions{})
		if err != nil {
			return false
		}
		status, _ := live.Object["status"].(map[string]any)
		return status["phase"] == string(phase) && status["reason"] == string(reason)
	})
}

func (e *env) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Errorf("not within half a minute: %s", what)
	}
}
