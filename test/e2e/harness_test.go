// Package e2e proves the manager on a real cluster, where it runs in pods of its own:
// hack/e2e.sh brings the cluster up and installs it there.
package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var (
	config        *rest.Config
	kubeClient    kubernetes.Interface
	olmClient     *olmclient.Client
	dynamicClient dynamic.Interface
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "no cluster to test on (make e2e brings one up):", err)
		os.Exit(1)
	}
	if err := removeDemo(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := checkPermissions(context.Background()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func connect() (err error) {
	if config, err = clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // A snapshot lists deprecated resources too.
	if kubeClient, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if olmClient, err = olmclient.New(config); err != nil {
		return err
	}
	dynamicClient, err = dynamic.NewForConfig(config)
	return err
}

type env struct {
	*testing.T
	ctx       context.Context
	namespace string
	began     metav1.Time
	scraper   string // token of a ServiceAccount that may get the metrics
}

// newEnv creates a Namespace with an OperatorGroup for itself.
func newEnv(t *testing.T) *env {
	t.Helper()
	e := newBareEnv(t)
	group(e)
	return e
}

// newBareEnv creates a Namespace that has nothing to do with operators yet. It no longer exists,
// with all that was made of it, after the test.
func newBareEnv(t *testing.T) *env {
	t.Helper()
	e := &env{T: t, ctx: t.Context(), began: metav1.Now()}
	ns := kube.Create(e, kubeClient.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}})
	e.namespace = ns.Name
	e.Cleanup(e.clean)
	e.eventually("the Namespace has what every Namespace has", func() (bool, any) {
		_, account := kubeClient.CoreV1().ServiceAccounts(e.namespace).Get(e.ctx, "default", metav1.GetOptions{})
		_, authority := kubeClient.CoreV1().ConfigMaps(e.namespace).Get(e.ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return account == nil && authority == nil, []error{account, authority}
	})
	return e
}

func group(e *env) {
	e.Helper()
	kube.Create(e, olmClient.OperatorGroups(e.namespace), &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{e.namespace}},
	})
}

// clean reports why a test that failed did, and removes its Namespace. No registration may outlive that.
func (e *env) clean() {
	e.ctx = context.WithoutCancel(e.ctx)
	if e.Failed() {
		e.explain()
	}
	endPods(e)
	removeNamespace(e)
	installtest.None(e, "registrations after the Namespace no longer exists", e.registrations())
}

// endPods deletes the ClusterServiceVersions and the pods, so that the Namespace is deleted at once. The
// Namespace controller waits 8 s if an object has a finalizer, and half of the longest
// terminationGracePeriodSeconds of the pods. What is left here, the Namespace deletes.
func endPods(e *env) {
	e.Helper()
	csvs := olmClient.ClusterServiceVersions(e.namespace)
	e.must(csvs.DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	_ = wait.PollUntilContextTimeout(e.ctx, 20*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		left, err := csvs.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, nil
	})
	background, now := metav1.DeletePropagationBackground, int64(0)
	_ = kubeClient.AppsV1().Deployments(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	_ = kubeClient.AppsV1().ReplicaSets(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	_ = kubeClient.CoreV1().Pods(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
}

func removeNamespace(e *env) {
	e.Helper()
	client := kubeClient.CoreV1().Namespaces()
	if err := client.Delete(e.ctx, e.namespace, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		e.must(err)
	}
	e.eventually("namespace "+e.namespace+" no longer exists", func() (bool, any) {
		ns, err := client.Get(e.ctx, e.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ns.Status.Conditions
	})
}

func (e *env) Context() context.Context { return e.ctx }

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// becomes waits until what is observed equals want.
func becomes[T any](e *env, what string, observe func() T, want T) {
	e.Helper()
	e.eventually(what, kube.Equals(observe, want))
}

// eventually waits until a condition holds, and fails with what it saw last.
func (e *env) eventually(what string, condition func() (ok bool, seen any)) {
	e.Helper()
	kube.Eventually(e, what, condition)
}

func (e *env) explain() {
	for _, c := range kube.List(e, olmClient.ClusterServiceVersions(e.namespace), metav1.ListOptions{}).Items {
		e.Logf("csv %s is %s/%s: %s", c.Name, c.Status.Phase, c.Status.Reason, csvstatus.Explained(c.Status))
	}
	for _, r := range kube.List(e, olmClient.WebhookRollouts(e.namespace), metav1.ListOptions{}).Items {
		for _, d := range r.Status.Deployments {
			e.Logf("deployment %s is %s/%s: %s", d.Name, d.State, d.Reason, d.Message)
			for _, w := range d.Webhooks {
				e.Logf("webhook %s is %s/%s since %s: %s", w.GenerateName, w.State, w.Reason, w.LastTransitionTime, w.Message)
			}
		}
	}
	for _, event := range kube.List(e, kubeClient.CoreV1().Events(e.namespace), metav1.ListOptions{}).Items {
		e.Logf("event %s %s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
	explainManager(e)
}

func explainManager(e *env) {
	for _, pod := range e.managerPods() {
		log, err := kubeClient.CoreV1().Pods(managerNamespace).GetLogs(pod.Name, &corev1.PodLogOptions{SinceTime: &e.began}).DoRaw(e.ctx)
		if err != nil {
			e.Logf("the log of pod %s cannot be read: %v", pod.Name, err)
			continue
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, e.namespace) {
				e.Logf("%s: %s", pod.Name, strings.TrimSpace(line))
			}
		}
	}
}
