// Package integration proves the manager on a real API server, without nodes: a test
// plays the controllers that run Deployments.
package integration

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

var installCRDs = sync.OnceValue(func() error {
	crds, err := filepath.Glob("../../manifests/crds/olm/operators*.yaml")
	if err != nil {
		return err
	}
	return cluster.InstallCRDs(context.Background(), append(crds, "../../manifests/crds/olm-webhook-manager.io_webhookrollouts.yaml")...)
})

// env is one test's part of the cluster: a Namespace and clients.
type env struct {
	*testing.T
	ctx       context.Context
	namespace string
	kube      kubernetes.Interface
	olm       clientset.Interface
}

// newEnv makes a Namespace that is gone, with all ClusterServiceVersions in it, after
// the test.
func newEnv(t *testing.T) *env {
	t.Helper()
	if err := installCRDs(); err != nil {
		t.Fatal(err)
	}
	kubeClient, olmClient := clients(t, cluster.Config())
	e := &env{T: t, ctx: t.Context(), kube: kubeClient, olm: olmClient}
	e.namespace = e.newNamespace("", nil)
	return e
}

func clients(t *testing.T, config *rest.Config) (kubernetes.Interface, clientset.Interface) {
	t.Helper()
	kubeClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	olmClient, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return kubeClient, olmClient
}

// newNamespace makes a Namespace with a generated name when name is empty.
func (e *env) newNamespace(name string, labels map[string]string) string {
	e.Helper()
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	if name == "" {
		meta.GenerateName = "t-"
	}
	ns, err := e.kube.CoreV1().Namespaces().Create(e.ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { e.clean(ns.Name) })
	return ns.Name
}

// clean unregisters what a test left, so that it cannot refuse the requests of the
// next: there may be no manager to do it any more.
func (e *env) clean(namespace string) {
	ctx := context.Background()
	owned := metav1.ListOptions{LabelSelector: "olm.owner.namespace=" + namespace}
	e.must(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned))
	e.must(e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned))
	e.must(e.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// group makes an OperatorGroup in the test's Namespace.
func (e *env) group(name string, spec operatorsv1.OperatorGroupSpec) *operatorsv1.OperatorGroup {
	e.Helper()
	group, err := e.olm.OperatorsV1().OperatorGroups(e.namespace).Create(e.ctx,
		&operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	e.must(err)
	return group
}

// manage runs a manager for the test's Namespace until the test ends or stop is called.
func (e *env) manage(change ...func(*controller.Options)) (stop func()) {
	e.Helper()
	config := cluster.Config()
	config.UserAgent = e.Name()
	return e.manageThrough(config, change...)
}

func (e *env) manageThrough(config *rest.Config, change ...func(*controller.Options)) (stop func()) {
	e.Helper()
	options := controller.Options{
		Namespaces: []string{e.namespace}, Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 4,
	}
	options.Rollout.Gate = rollout.GateAvailable
	for _, f := range change {
		f(&options)
	}
	kubeClient, olmClient := clients(e.T, config)
	log := logrus.New()
	log.SetOutput(io.Discard)
	if os.Getenv("MANAGER_LOG") != "" {
		log.SetOutput(os.Stderr)
	}
	c, err := controller.New(kubeClient, olmClient, &record.FakeRecorder{}, controller.NewMetrics(prometheus.NewRegistry()), logrus.NewEntry(log), options)
	e.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	var running wait.Group
	running.Start(func() {
		if c.Fill(ctx) == nil {
			c.Run(ctx)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	e.Cleanup(stop)
	return stop
}

// eventually waits until a condition holds, and fails with what it said last.
func (e *env) eventually(what string, condition func() (ok bool, seen any)) {
	e.Helper()
	var last any
	err := wait.PollUntilContextTimeout(e.ctx, 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		e.Fatalf("not within 20 s: %s; last seen: %+v", what, last)
	}
}
