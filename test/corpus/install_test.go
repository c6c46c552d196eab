package corpus

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// env is an API server with a manager for all namespaces. Nothing runs, so a webhook is
// registered when its Deployment is available, which the test sets.
type env struct {
	clients.Set
	dynamic dynamic.Interface
}

func newEnv(t *testing.T) *env {
	t.Helper()
	crds, err := filepath.Glob("../../manifests/crds/olm/operators*.yaml")
	must(t, err)
	must(t, cluster.InstallCRDs(t.Context(), append(crds, "../../manifests/crds/olm-webhook-manager.io_webhookrollouts.yaml")...))
	e := &env{}
	e.Set, err = clients.New(cluster.Config())
	must(t, err)
	e.dynamic, err = dynamic.NewForConfig(cluster.Config())
	must(t, err)
	e.manage(t)
	return e
}

func (e *env) manage(t *testing.T) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	options := controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 2}
	options.Rollout.Gate = rollout.GateAvailable
	options.Rollout.StatusDelay = 0 // the test that plays the Deployments reads the status
	c, err := controller.New(e.Set, &record.FakeRecorder{}, metrics.New(prometheus.NewRegistry()), logrus.NewEntry(log), options)
	must(t, err)
	kube.RunController(t, c)
}

// install does what an installer does, and then plays the Deployment controller until
// the ClusterServiceVersion succeeds. It returns the phases and messages that it had in between.
func (e *env) install(t *testing.T, namespace string, b bundle) (said []operatorsv1alpha1.ClusterServiceVersionStatus) {
	t.Helper()
	ctx := t.Context()
	kube.Create(t, e.Kube.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "og"}}
	if !b.allNamespaces() {
		group.Spec.TargetNamespaces = []string{namespace}
	}
	kube.Create(t, e.OLM.OperatorGroups(namespace), group)
	e.permit(t, namespace, b)
	for _, crd := range slices.Concat(b.crds, b.requiredCRDs()) {
		_, err := e.crds().Create(ctx, crd, metav1.CreateOptions{})
		must(t, err)
	}
	csv := b.raw.DeepCopy()
	unstructured.RemoveNestedField(csv.Object, "spec", "replaces")
	csv.SetNamespace(namespace)
	_, err := e.csvs(namespace).Create(ctx, csv, metav1.CreateOptions{})
	must(t, err)
	var status operatorsv1alpha1.ClusterServiceVersionStatus
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := e.playDeployments(ctx, namespace, status.Message); err != nil {
			return false, err
		}
		c, err := e.OLM.ClusterServiceVersions(namespace).Get(ctx, b.csv.Name, metav1.GetOptions{})
		if err == nil {
			status = c.Status
			said = append(said, status)
		}
		return status.Phase == operatorsv1alpha1.CSVPhaseSucceeded, err
	}); err != nil {
		t.Fatalf("%s is %s/%s: %s", b.csv.Name, status.Phase, status.Reason, csvstatus.Explained(status))
	}
	for _, c := range status.Conditions {
		said = append(said, operatorsv1alpha1.ClusterServiceVersionStatus{Phase: c.Phase, Reason: c.Reason, Message: c.Message})
	}
	return said
}

// playDeployments sets the status of every Deployment of a namespace that its pods do not answer, as OLM
// v0 saw it, and that they do once the ClusterServiceVersion has reported it.
func (e *env) playDeployments(ctx context.Context, namespace, said string) error {
	list, err := e.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		answers := d.Status.ObservedGeneration > 0
		named := strings.Contains(said, fmt.Sprintf("deployment %q not available: %s", d.Name, unavailable))
		if d.Status.ObservedGeneration == d.Generation && (d.Status.AvailableReplicas > 0 || !named) {
			continue
		}
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: unavailable}},
		}
		if answers {
			d.Status.ReadyReplicas, d.Status.AvailableReplicas = n, n
			d.Status.Conditions[0].Status, d.Status.Conditions[0].Reason = corev1.ConditionTrue, "MinimumReplicasAvailable"
		}
		if _, err := e.Kube.AppsV1().Deployments(namespace).UpdateStatus(ctx, &d, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

const unavailable = "Deployment does not have minimum availability."

// wentThrough compares the phase in which pods that never start left OLM v0 with what the
// ClusterServiceVersion reported in between.
func wentThrough(t *testing.T, said []operatorsv1alpha1.ClusterServiceVersionStatus, file string) {
	t.Helper()
	var last struct {
		Phase        operatorsv1alpha1.ClusterServiceVersionPhase
		Reason       operatorsv1alpha1.ConditionReason
		Message      string
		NotSatisfied []any
	}
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, yaml.Unmarshal(text, &last))
	var found bool
	for _, s := range said {
		found = found || s.Phase == last.Phase && s.Reason == last.Reason && s.Message == last.Message
		for _, r := range s.RequirementStatus {
			if s.Phase == operatorsv1alpha1.CSVPhaseSucceeded && len(last.NotSatisfied) == 0 && r.Status != operatorsv1alpha1.RequirementStatusReasonPresent {
				t.Errorf("OLM v0 found every requirement satisfied, and this manager %+v", r)
			}
		}
	}
	if !found {
		t.Errorf("OLM v0 got to %s/%s: %s; this manager never reported that", last.Phase, last.Reason, last.Message)
	}
}

// uninstall clears the way for the next bundle, which may define the same resources.
func (e *env) uninstall(t *testing.T, namespace string, b bundle) {
	t.Helper()
	ctx := t.Context()
	must(t, e.csvs(namespace).Delete(ctx, b.csv.Name, metav1.DeleteOptions{}))
	must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := e.csvs(namespace).Get(ctx, b.csv.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}))
	for _, crd := range slices.Concat(b.crds, b.requiredCRDs()) {
		must(t, e.crds().Delete(ctx, crd.GetName(), metav1.DeleteOptions{}))
		must(t, kube.AwaitRemoval(ctx, e.crds(), crd.GetName()))
	}
}

func (e *env) csvs(namespace string) dynamic.ResourceInterface {
	return e.dynamic.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")).Namespace(namespace)
}

func (e *env) crds() dynamic.ResourceInterface {
	return e.dynamic.Resource(schema.GroupVersionResource{Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
