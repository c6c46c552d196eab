// Package integration has a real API server call the operator.
package integration

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/operatortest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/test/table"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

func startOperator(t *testing.T) *table.Namespace {
	t.Helper()
	if err := cluster.InstallCRDs(t.Context(), "../../bundle/manifests/kubeflow.org_poddefaults.yaml"); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
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
