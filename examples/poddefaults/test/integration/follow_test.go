// Package integration has a real API server call the operator.
package integration

import (
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/operatortest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/test/table"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

func startOperator(t *testing.T) *table.Namespace {
	t.Helper()
	installtest.Must(t, cluster.InstallCRDs(t.Context(), "../../bundle/manifests/kubeflow.org_poddefaults.yaml"))
	client, err := kubernetes.NewForConfig(cluster.Config())
	installtest.Must(t, err)
	operatortest.Run(t, cluster, programs.PodDefaults)
	t.Cleanup(func() {
		// The operator has stopped, so it must not be called.
		err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), "poddefaults-poddefaults", metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	return table.NewNamespace(t, cluster.Config(), nil)
}

func TestTable(t *testing.T) {
	startOperator(t).Check(t)
}

var pod = &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "any"}}}}

func podDefault(n *table.Namespace, name string, spec v1alpha1.PodDefaultSpec) *v1alpha1.PodDefault {
	d := &v1alpha1.PodDefault{Spec: spec}
	d.APIVersion, d.Kind, d.Name, d.Namespace = "kubeflow.org/v1alpha1", "PodDefault", name, n.Name
	return d
}

func TestPodDefaultsAreFollowed(t *testing.T) {
	n := startOperator(t)
	d := podDefault(n, "d", v1alpha1.PodDefaultSpec{Labels: map[string]string{"team": "shop"}})
	first := n.CreatePodDefaults(t, []*v1alpha1.PodDefault{d})
	installtest.Same(t, "team", "shop", n.CreateWith(t, pod, first).Labels["team"])

	patch := []byte(`{"spec":{"labels":{"team":"bank"}}}`)
	changed, err := n.PodDefaults.Patch(t.Context(), "d", "application/merge-patch+json", patch, metav1.PatchOptions{})
	installtest.Must(t, err)
	installtest.Same(t, "team after the change", "bank", n.CreateWith(t, pod, map[string]string{"d": changed.GetResourceVersion()}).Labels["team"])

	installtest.Must(t, n.PodDefaults.Delete(t.Context(), "d", metav1.DeleteOptions{}))
	installtest.Same(t, "the number of labels after the deletion", 0, len(n.CreateWith(t, pod, map[string]string{}).Labels))
}

// TestBrokenPodDefault has a selector that the schema does not refuse.
func TestBrokenPodDefault(t *testing.T) {
	n := startOperator(t)
	broken := v1alpha1.PodDefaultSpec{Selector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like", Values: []string{"shop"}}},
	}}
	versions := n.CreatePodDefaults(t, []*v1alpha1.PodDefault{podDefault(n, "broken", broken), podDefault(n, "good", v1alpha1.PodDefaultSpec{})})
	delete(versions, "broken")

	var shown warnings
	config := cluster.Config()
	config.WarningHandler = &shown
	n = n.As(t, config)
	n.CreateWith(t, pod, versions)
	want := []string{`PodDefault "broken" is not applied to any pod, as it is not valid`}
	installtest.Same(t, "warnings", want, shown.last())
}

func TestNameThatIsTooLongForAnAnnotation(t *testing.T) {
	n := startOperator(t)
	_, err := n.TryPodDefault(t, podDefault(n, strings.Repeat("x", 53), v1alpha1.PodDefaultSpec{}))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.name must be no more than 52 characters") {
		t.Errorf("got %v", err)
	}
	versions := n.CreatePodDefaults(t, []*v1alpha1.PodDefault{podDefault(n, strings.Repeat("x", 52), v1alpha1.PodDefaultSpec{})})
	n.CreateWith(t, pod, versions)
}

type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = []string{text}
}

func (w *warnings) last() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.texts
}
