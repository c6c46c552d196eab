// Package e2e proves the manager on a real cluster, where it runs in pods of its own:
// hack/e2e.sh brings the cluster up and installs it there.
package e2e

import (
	"context"
	"fmt"
	"os"
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
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset"
)

var (
	config        *rest.Config
	kubeClient    kubernetes.Interface
	olmClient     clientset.Interface
	dynamicClient dynamic.Interface
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "no cluster to test on (make e2e brings one up):", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func connect() (err error) {
	if config, err = clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
		return err
	}
	config.QPS = -1
	if kubeClient, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if olmClient, err = clientset.NewForConfig(config); err != nil {
		return err
	}
	dynamicClient, err = dynamic.NewForConfig(config)
	return err
}

// env is one test's part of the cluster: a Namespace with an OperatorGroup for itself.
type env struct {
	*testing.T
	ctx       context.Context
	namespace string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{T: t, ctx: t.Context()}
	ns, err := kubeClient.CoreV1().Namespaces().Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	e.must(err)
	e.namespace = ns.Name
	e.Cleanup(e.clean)
	_, err = olmClient.OperatorsV1().OperatorGroups(e.namespace).Create(e.ctx, &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{e.namespace}},
	}, metav1.CreateOptions{})
	e.must(err)
	return e
}

// clean removes the test's Namespace, and says why a test that failed did.
func (e *env) clean() {
	ctx := context.WithoutCancel(e.ctx)
	if e.Failed() {
		e.explain(ctx)
	}
	client := kubeClient.CoreV1().Namespaces()
	e.must(client.Delete(ctx, e.namespace, metav1.DeleteOptions{}))
	e.must(wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.Get(ctx, e.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}))
}

// explain prints what an administrator would look at.
func (e *env) explain(ctx context.Context) {
	csvs, err := olmClient.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).List(ctx, metav1.ListOptions{})
	e.must(err)
	for _, c := range csvs.Items {
		e.Logf("%s is %s/%s: %s", c.Name, c.Status.Phase, c.Status.Reason, c.Status.Message)
	}
	events, err := kubeClient.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{})
	e.must(err)
	for _, event := range events.Items {
		e.Logf("event %s %s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// eventually waits until a condition holds, and fails with what it saw last.
func (e *env) eventually(what string, condition func() (ok bool, seen any)) {
	e.Helper()
	var last any
	err := wait.PollUntilContextTimeout(e.ctx, 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		e.Fatalf("not within two minutes: %s; last seen: %+v", what, last)
	}
}

func (e *env) create(csv *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	_, err := olmClient.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Create(e.ctx, csv, metav1.CreateOptions{})
	e.must(err)
}

// succeeds waits for a ClusterServiceVersion, and says when it did.
func (e *env) succeeds(csv string) time.Time {
	e.Helper()
	e.eventually(csv+" succeeds", func() (bool, any) {
		c, err := olmClient.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		e.must(err)
		return c.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded, c.Status.Message
	})
	return time.Now()
}

// webhookIs waits until the WebhookRollout shows its only webhook in a state, and
// returns it.
func (e *env) webhookIs(csv string, state managerv1alpha1.WebhookState, reason string) managerv1alpha1.WebhookStatus {
	e.Helper()
	var webhook managerv1alpha1.WebhookStatus
	e.eventually(fmt.Sprintf("the webhook of %s is %s/%s", csv, state, reason), func() (bool, any) {
		rollout, err := olmClient.ManagerV1alpha1().WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, err
		}
		e.must(err)
		for _, d := range rollout.Status.Deployments {
			for _, w := range d.Webhooks {
				webhook = w
			}
		}
		return webhook.State == state && webhook.Reason == reason, webhook
	})
	return webhook
}
