// Package integration proves the manager on a real API server, without nodes: a test
// plays the controllers that run Deployments, and nothing is garbage collected.
package integration

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
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

type env struct {
	*testing.T
	ctx       context.Context
	namespace string
	kube      kubernetes.Interface
	olm       *olmclient.Client
	any       dynamic.Interface
	parallel  bool // other tests run at the same time
	managers  int  // started so far
	marks     int  // in the audit log so far
	touches   int  // of a ClusterServiceVersion so far
}

// newEnv creates a Namespace that no longer exists, with all webhooks of it, after the test.
func newEnv(t *testing.T) *env {
	t.Helper()
	if !cluster.Audit.Available() {
		t.Skip("a whole cluster has controllers of its own for what these tests play: unset KUBECONFIG")
	}
	installtest.Must(t, installCRDs())
	kubeClient, olmClient := typedClients(t, cluster.Config())
	e := &env{T: t, ctx: t.Context(), kube: kubeClient, olm: olmClient}
	var err error
	e.any, err = dynamic.NewForConfig(cluster.Config())
	e.must(err)
	e.namespace = newNamespace(e, "", nil)
	return e
}

// newParallelEnv is newEnv for a test that runs in parallel with others: its managers look
// after its own Namespace only, and nothing in it is measured in time.
func newParallelEnv(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	e := newEnv(t)
	e.parallel = true
	return e
}

// newGroupEnv is newParallelEnv with an OperatorGroup for all namespaces.
func newGroupEnv(t *testing.T) *env {
	t.Helper()
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	return e
}

// newOperatorEnv is newParallelEnv with an OperatorGroup for all namespaces. Deployments become available, except some.
func newOperatorEnv(t *testing.T, except ...string) *env {
	t.Helper()
	return operating(newParallelEnv(t), allNamespaces, except...)
}

// newOwnNamespaceEnv is newOperatorEnv with an OperatorGroup for the test's Namespace alone.
func newOwnNamespaceEnv(t *testing.T) *env {
	t.Helper()
	e := newParallelEnv(t)
	return operating(e, namespaces(e.namespace))
}

// groupIsReported waits until a manager has filled its caches and has written the status of the OperatorGroup.
func (e *env) groupIsReported() {
	e.Helper()
	e.eventually("the OperatorGroup has a status", func() (bool, any) {
		status := kube.Get(e, e.olm.OperatorGroups(e.namespace), "og").Status
		return len(status.Namespaces) > 0, status
	})
}

// operating adds an OperatorGroup. All Deployments of the test become available, except for some.
func operating(e *env, spec operatorsv1.OperatorGroupSpec, except ...string) *env {
	e.Helper()
	e.group("og", spec)
	e.runDeployments(except...)
	return e
}

func typedClients(t *testing.T, config *rest.Config) (kubernetes.Interface, *olmclient.Client) {
	t.Helper()
	kubeClient := installtest.OrPanic(kubernetes.NewForConfig(config))
	olmClient := installtest.OrPanic(olmclient.New(config))
	return kubeClient, olmClient
}

// newNamespace creates a Namespace. Its name is generated if name is empty, and if it ends in a hyphen.
func newNamespace(e *env, name string, labels map[string]string) string {
	e.Helper()
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	if name == "" || strings.HasSuffix(name, "-") {
		meta.Name, meta.GenerateName = "", cmp.Or(name, "t-")
	}
	ns := kube.Create(e, e.kube.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: meta})
	e.Cleanup(func() { clean(e, ns.Name) })
	return ns.Name
}

// clean unregisters what a test left, so that it cannot refuse requests of the next: no manager may run any more.
func clean(e *env, namespace string) {
	ctx := context.Background()
	owned := metav1.ListOptions{LabelSelector: "olm.owner.namespace=" + namespace}
	e.must(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned))
	e.must(e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, owned))
	e.must(e.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
}

func (e *env) Context() context.Context { return e.ctx }

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// patience is how long a test waits before it fails: several times what a machine needs that other work keeps busy.
const patience = 3 * time.Minute

// pauses grow from 10 ms to 60 ms: each read costs the API server processor time, of which the
// managers under test have less then.
var pauses = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.3, Steps: 7}

func (e *env) eventually(what string, condition func() (ok bool, seen any)) {
	e.Helper()
	poll(e, pauses, what, condition)
}

// becomes waits until a value is the desired one. No items are as good as none.
func becomes[T any](e *env, what string, observe func() T, want T) {
	e.Helper()
	e.eventually(what, kube.Equals(observe, want))
}

func poll(e *env, pauses wait.Backoff, what string, condition func() (ok bool, seen any)) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	var last any
	err := pauses.DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		e.Fatalf("not within %s: %s; last observed: %+v", patience, what, last)
	}
}

// proxy stands before the API server: it knows a manager's writes in order, and cuts off the ones that the judge selects.
func proxy(e *env, judge kube.Judge) *kube.Proxy {
	e.Helper()
	p := installtest.OrPanic(kube.NewProxy(cluster.Config(), judge))
	e.Cleanup(p.Close)
	return p
}

// neighbour returns another Namespace of the same test. Its name sorts after that of the first: of two
// ClusterServiceVersions that were created in the same second, the one in the first is the elder.
func neighbour(e *env) *env {
	e.Helper()
	other := *e
	other.namespace, other.managers = newNamespace(e, e.namespace+"-", nil), 0
	return &other
}
