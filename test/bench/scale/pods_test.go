package scale

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// BenchmarkPods installs ClusterServiceVersions with real pods in a whole cluster. The floor is the same objects by
// plain clients, because the start of twenty pods varies by more than a second.
func BenchmarkPods(b *testing.B) {
	if cluster.Audit.Available() {
		b.Skip("this API server has no nodes: make bench-pods")
	}
	var all []float64
	for b.Loop() {
		all = append(all, measurePods(b, 20))
	}
	installedWithin(b, all)
	b.ReportMetric(0, "ns/op")
}

func measurePods(b *testing.B, size int) (floors float64) {
	e := newEnv(b)
	defer e.eachNamespace(e.noPods)
	defer e.eachNamespace(e.deleteNamespace)
	e.eachNamespace(e.readyForPods)
	e.managerRuns()
	csvs := e.csvs(size, 1)
	for _, csv := range csvs {
		serve(csv)
	}
	installing := e.timed(func() {
		e.each(csvs, e.createCSV)
		e.allSucceed(csvs)
	})

	e.scaleManager(0)
	defer e.scaleManager(2)
	e.noPods("olm-webhook-manager")
	floor := e.floor(csvs)
	e.clear()
	b.Logf("%.1f s, next to %.1f s of plain clients", installing.Seconds(), floor.Seconds())
	return installing.Seconds() / floor.Seconds()
}

// serve gives a ClusterServiceVersion pods that serve: the plain webhook server of the end-to-end tests.
func serve(csv *operatorsv1alpha1.ClusterServiceVersion) {
	port := intstr.FromInt32(9443)
	csv.Spec.WebhookDefinitions[0].TargetPort = &port
	pod := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
	pod.TerminationGracePeriodSeconds = new(int64(1))
	pod.Containers = []corev1.Container{{
		Name: "server", Image: "docker.io/olm-webhook-manager/hook:dev", ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"serve"},
		Ports: []corev1.ContainerPort{{ContainerPort: port.IntVal}},
		ReadinessProbe: &corev1.Probe{
			PeriodSeconds: 1,
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: port, Scheme: corev1.URISchemeHTTPS}},
		},
	}}
}

// readyForPods waits until a new Namespace has what pods there need. The floor is measured
// in the same Namespaces, later.
func (e *env) readyForPods(namespace string) {
	e.Helper()
	e.eventually("pods can start in "+namespace, func() (bool, error) {
		_, account := e.kube.CoreV1().ServiceAccounts(namespace).Get(e.ctx, "default", metav1.GetOptions{})
		_, authority := e.kube.CoreV1().ConfigMaps(namespace).Get(e.ctx, "kube-root-ca.crt", metav1.GetOptions{})
		missing := cmp.Or(account, authority)
		if apierrors.IsNotFound(missing) {
			return false, nil
		}
		return missing == nil, missing
	})
}

func (e *env) scaleManager(replicas int32) {
	e.Helper()
	const name = "olm-webhook-manager"
	_, err := e.kube.AppsV1().Deployments(name).UpdateScale(context.WithoutCancel(e.ctx), name, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}, metav1.UpdateOptions{})
	e.must(err)
}

func (e *env) managerRuns() {
	e.Helper()
	const name = "olm-webhook-manager"
	e.eventually("the manager runs", func() (bool, error) {
		d, err := e.kube.AppsV1().Deployments(name).Get(e.ctx, name, metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == 2, err
	})
}

func (e *env) noPods(namespace string) {
	e.Helper()
	e.eventually(fmt.Sprintf("there are no pods in %s", namespace), func() (bool, error) {
		pods, err := e.kube.CoreV1().Pods(namespace).List(e.ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
}

func (e *env) deleteNamespace(name string) {
	e.must(e.kube.CoreV1().Namespaces().Delete(context.WithoutCancel(e.ctx), name, metav1.DeleteOptions{}))
}
