package bundle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var oneGigabyte = resource.MustParse("1Gi")

func (e *env) manage(t *testing.T) {
	t.Helper()
	clients := installtest.OrPanic(clients.New(cluster.Config()))
	log := logrus.New()
	log.SetOutput(io.Discard)
	c, err := controller.New(clients, &record.FakeRecorder{}, metrics.New(prometheus.NewRegistry()), logrus.NewEntry(log),
		controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 2})
	must(t, err)
	kube.RunController(t, c)
}

func managerFails(t *testing.T, e *env, b *bundle.Bundle) {
	e.managerSays(t, b, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
}

// managerFailsUndecoded is managerFails for a bundle whose ClusterServiceVersion is not decoded, because it is refused.
func managerFailsUndecoded(t *testing.T, e *env, b *bundle.Bundle) {
	b.CSV = &operatorsv1alpha1.ClusterServiceVersion{}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(b.CSVObject.Object, b.CSV))
	managerFails(t, e, b)
}

// managerWaits: what keeps the ClusterServiceVersion Pending is what the findings predict, as
// status.requirementStatus words it. It stays so for its permissions, too, which no client grants here.
func managerWaits(t *testing.T, e *env, b *bundle.Bundle) {
	e.defined(t, b)
	predicted := predictedRequirements(b)
	if len(predicted) == 0 {
		t.Fatal("no finding reports what keeps the ClusterServiceVersion Pending")
	}
	csv := e.managerSays(t, b, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	e.eventually(t, fmt.Sprintf("missing is %q", predicted), func() bool { return slices.Equal(e.missing(t, csv), predicted) })
	if t.Failed() {
		t.Errorf("missing is %q", e.missing(t, csv))
	}
}

// nothingButPermissionsMissing is what managerWaits is held against: a whole bundle.
func nothingButPermissionsMissing(t *testing.T, e *env, b *bundle.Bundle) {
	e.defined(t, b)
	csv := e.managerSays(t, b, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	e.eventually(t, "nothing but permissions is missing", func() bool { return len(e.missing(t, csv)) == 0 })
}

func predictedRequirements(b *bundle.Bundle) []string {
	var all []string
	for _, f := range lint.Run(b).Findings {
		if requirement, found := strings.CutPrefix(f.What, "the ClusterServiceVersion stays Pending/RequirementsNotMet: "); found {
			subject, message, _ := strings.Cut(requirement, ": ")
			all = append(all, subject+": "+csvstatus.Words(message))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// missing are the requirements of a ClusterServiceVersion that are not met, except for permissions.
func (e *env) missing(t *testing.T, csv *unstructured.Unstructured) []string {
	t.Helper()
	resource := e.client(t, csv)
	live, err := resource.Get(t.Context(), csv.GetName(), metav1.GetOptions{})
	must(t, err)
	var typed operatorsv1alpha1.ClusterServiceVersion
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &typed))
	unmet := lists.Filter(typed.Status.RequirementStatus, func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Kind != "ServiceAccount" && !csvstatus.Met(r)
	})
	all := lists.Map(unmet, func(r operatorsv1alpha1.RequirementStatus) string {
		return fmt.Sprintf("%s %s: %s", r.Kind, r.Name, r.Message)
	})
	slices.Sort(all)
	return slices.Compact(all) // a definition that is not there is missed once for each version
}

func (e *env) defined(t *testing.T, b *bundle.Bundle) {
	t.Helper()
	for _, crd := range b.CRDs() {
		object := b.Find(groupkind.CustomResourceDefinition, crd.Name).Unstructured
		resource := e.client(t, object)
		must(t, e.create(t.Context(), object, false))
		t.Cleanup(func() { e.remove(t, resource, crd.Name) })
	}
}

func (e *env) remove(t *testing.T, resource dynamic.ResourceInterface, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	must(t, resource.Delete(ctx, name, metav1.DeleteOptions{}))
	must(t, kube.AwaitRemoval(ctx, resource, name))
}

func managerRefusesGroup(t *testing.T, e *env, b *bundle.Bundle) {
	e.managerSays(t, b, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict)
}

func (e *env) managerSays(t *testing.T, b *bundle.Bundle, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) *unstructured.Unstructured {
	t.Helper()
	namespace := "bundle-" + strings.ToLower(string(phase)) + "-" + strings.ReplaceAll(b.CSV.Name, ".", "-")
	e.namespace(t, namespace)
	group := &operatorsv1.OperatorGroup{TypeMeta: metav1.TypeMeta{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup"}, ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: namespace}}
	e.createIfAbsent(t, group)
	for _, a := range bundle.Accounts(b.CSV) {
		account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: namespace}}
		e.createIfAbsent(t, account)
	}
	csv := b.CSVObject.DeepCopy()
	csv.SetNamespace(namespace)
	resource := e.client(t, csv)
	_, err := resource.Create(t.Context(), csv, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { e.remove(t, resource, csv.GetName()) })
	e.eventually(t, string(phase)+"/"+string(reason), func() bool {
		live, err := resource.Get(t.Context(), csv.GetName(), metav1.GetOptions{})
		if err != nil {
			return false
		}
		status, _ := live.Object["status"].(map[string]any)
		return status["phase"] == string(phase) && status["reason"] == string(reason)
	})
	return csv
}

func (e *env) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Errorf("not within half a minute: %s", what)
	}
}
