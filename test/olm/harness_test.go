// Package olm proves the manager in the place of olm-operator, next to OLM's own catalog-operator and
// package-server: hack/e2e-olm.sh brings a cluster up and installs them there.
package olm

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

var (
	config        *rest.Config
	kubeClient    kubernetes.Interface
	olmClient     *olmclient.Client
	dynamicClient dynamic.Interface
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "no cluster to test on (make e2e-olm brings one up):", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func connect() (err error) {
	if config, err = clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	if kubeClient, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if olmClient, err = olmclient.New(config); err != nil {
		return err
	}
	dynamicClient, err = dynamic.NewForConfig(config)
	return err
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// env is a Namespace of a test, with its OperatorGroup, its catalog and its Subscriptions.
type env struct {
	*testing.T
	ctx       context.Context
	namespace string
	began     metav1.Time
	catalog   int // number of the served catalog, see publish
	packages  []catalog.Package
}

// newEnv creates a Namespace with an OperatorGroup. All of it no longer exists after the test.
func newEnv(t *testing.T, namespace string, group operatorsv1.OperatorGroupSpec) *env {
	t.Helper()
	e := &env{T: t, ctx: t.Context(), namespace: namespace, began: metav1.Now()}
	kube.Create(e, kubeClient.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	e.Cleanup(e.clean)
	kube.Create(e, olmClient.OperatorGroups(namespace), &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: group})
	return e
}

func (e *env) Context() context.Context { return e.ctx }

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) eventually(what string, condition func() (ok bool, seen any)) {
	e.Helper()
	kube.Eventually(e, what, condition)
}

// clean explains a failure, and removes what a user installed, in the order in which a user does.
func (e *env) clean() {
	e.ctx = context.WithoutCancel(e.ctx)
	if e.Failed() {
		e.explain()
	}
	all := metav1.ListOptions{}
	e.must(olmClient.Subscriptions(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{}, all))
	e.must(olmClient.ClusterServiceVersions(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{}, all))
	e.eventually("the ClusterServiceVersions no longer exist", func() (bool, any) {
		left := slices.DeleteFunc(kube.List(e, olmClient.ClusterServiceVersions(e.namespace), all).Items, func(csv operatorsv1alpha1.ClusterServiceVersion) bool {
			return csv.IsCopied() // of another test's operator: it is recreated
		})
		return len(left) == 0, left
	})
	e.removeDefinitions()
	e.must(kubeClient.CoreV1().Pods(e.namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, all))
	e.removeNamespace(e.namespace)
}

// removeNamespace returns when the Namespace no longer exists.
func (e *env) removeNamespace(name string) {
	e.Helper()
	namespaces := kubeClient.CoreV1().Namespaces()
	e.must(namespaces.Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.eventually("namespace "+name+" no longer exists", func() (bool, any) {
		ns, err := namespaces.Get(e.ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ns.Status.Conditions
	})
}

// removeDefinitions deletes the CustomResourceDefinitions of the catalog's operators, as a user does who needs them no more.
func (e *env) removeDefinitions() {
	e.Helper()
	client := dynamicClient.Resource(definitions)
	for _, p := range e.packages {
		for _, b := range p.Bundles {
			for _, crd := range b.CSV.Spec.CustomResourceDefinitions.Owned {
				if err := client.Delete(e.ctx, crd.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
					e.must(err)
				}
				e.must(kube.AwaitRemoval(e.ctx, client, crd.Name))
			}
		}
	}
}

// explain logs the state of everything between the catalog and the webhooks.
func (e *env) explain() {
	all := metav1.ListOptions{}
	for _, s := range kube.List(e, olmClient.Subscriptions(e.namespace), all).Items {
		e.Logf("subscription %s: state %s, current %s, installed %s, conditions %+v", s.Name, s.Status.State, s.Status.CurrentCSV, s.Status.InstalledCSV, s.Status.Conditions)
	}
	for _, p := range kube.List(e, olmClient.InstallPlans(e.namespace), all).Items {
		e.Logf("installplan %s of %v: %s, %s, conditions %+v", p.Name, p.Spec.ClusterServiceVersionNames, p.Status.Phase, p.Status.Message, p.Status.Conditions)
		for _, s := range p.Status.Plan {
			e.Logf("installplan %s: %s %s %s", p.Name, s.Resource.Kind, s.Resource.Name, s.Status)
		}
	}
	for _, c := range kube.List(e, olmClient.ClusterServiceVersions(e.namespace), all).Items {
		e.Logf("csv %s replaces %q, is %s/%s: %s", c.Name, c.Spec.Replaces, c.Status.Phase, c.Status.Reason, csvstatus.Explained(c.Status))
	}
	for _, r := range kube.List(e, olmClient.WebhookRollouts(e.namespace), all).Items {
		for _, d := range r.Status.Deployments {
			e.Logf("deployment %s is %s/%s: %s", d.Name, d.State, d.Reason, d.Message)
			for _, w := range d.Webhooks {
				e.Logf("webhook %s is %s/%s since %s: %s", w.GenerateName, w.State, w.Reason, w.LastTransitionTime, w.Message)
			}
		}
	}
	for _, event := range kube.List(e, kubeClient.CoreV1().Events(e.namespace), all).Items {
		e.Logf("event %s %s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
	e.explainFailedContainers()
	e.explainPods(e.namespace, "app="+catalogName, "level=warn", "level=error", "level=fatal")
	e.explainPods("olm-webhook-manager", "app.kubernetes.io/name=olm-webhook-manager", e.namespace)
	e.explainPods(olmNamespace, "app=catalog-operator", "level=warn", "level=error")
}

// explainFailedContainers logs why containers ended, in the words of each.
func (e *env) explainFailedContainers() {
	for _, pod := range kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{}).Items {
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if ended := c.State.Terminated; ended != nil && ended.ExitCode != 0 {
				e.Logf("container %s of pod %s ended with %d, %s: %s", c.Name, pod.Name, ended.ExitCode, ended.Reason, ended.Message)
			}
		}
	}
}

// explainPods logs the lines that contain one of some words.
func (e *env) explainPods(namespace, selector string, words ...string) {
	pods := kubeClient.CoreV1().Pods(namespace)
	for _, pod := range kube.List(e, pods, metav1.ListOptions{LabelSelector: selector}).Items {
		log, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{SinceTime: &e.began}).DoRaw(e.ctx)
		if err != nil {
			e.Logf("the log of pod %s cannot be read: %v", pod.Name, err)
			continue
		}
		for line := range strings.Lines(string(log)) {
			for _, word := range words {
				if strings.Contains(line, word) {
					e.Logf("%s: %s", pod.Name, strings.TrimSpace(line))
					break
				}
			}
		}
	}
}
