// Package integration has a real API server call the operator.
package integration

import (
	"os"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/operatortest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

var cluster *kube.Cluster

// The API of the cluster's own storage migrator is disabled by default.
func TestMain(m *testing.M) {
	os.Exit(kube.Run(m, &cluster, migratorGate, "--runtime-config=storagemigration.k8s.io/v1beta1=true"))
}

const migratorGate = "--feature-gates=StorageVersionMigrator=true"

type env struct {
	*testing.T
	caches.Client
	kube kubernetes.Interface
	crds *apiextensions.Clientset
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{T: t}
	client, err := dynamic.NewForConfig(cluster.Config())
	e.must(err)
	e.Client = caches.Client{Dynamic: client, Namespace: "default"}
	e.kube, err = kubernetes.NewForConfig(cluster.Config())
	e.must(err)
	e.crds, err = apiextensions.NewForConfig(cluster.Config())
	e.must(err)
	return e
}

// newEnvWithEtcd is newEnv for a test that reads in etcd what is stored.
func newEnvWithEtcd(t *testing.T) *env {
	t.Helper()
	if cluster.Etcd() == "" {
		t.Skip("the proof is what etcd holds, and this cluster's is out of reach: unset KUBECONFIG")
	}
	return newEnv(t)
}

// newConvertedEnv is newEnvWithEtcd with the definition of v2 and its webhook, until the test ends.
func newConvertedEnv(t *testing.T) *env {
	t.Helper()
	e := newEnvWithEtcd(t)
	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	return e
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// startWebhook runs the webhook, without the controller, until the test ends or stop is called.
func (e *env) startWebhook() (stop func()) {
	e.Helper()
	return operatortest.Run(e.T, cluster, programs.Conversion, "--controllers=-caches", "--webhooks=*")
}
