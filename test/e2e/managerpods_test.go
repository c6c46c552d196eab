package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Where hack/deploy.sh runs the manager, and under which name.
const (
	managerNamespace  = "olm-webhook-manager"
	managerDeployment = "olm-webhook-manager"
)

func (e *env) managerPods() []corev1.Pod {
	e.Helper()
	return kube.List(e, kubeClient.CoreV1().Pods(managerNamespace), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + managerDeployment}).Items
}

// leader returns the name of the pod that leads; empty while none does. The holder's identity
// is that name, which is the pod's host name, and a UUID.
func (e *env) leader() string {
	e.Helper()
	lease, err := kubeClient.CoordinationV1().Leases(managerNamespace).Get(e.ctx, wellknown.FieldManager, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	e.must(err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}

// killLeader deletes the manager's pod that works. The API server forgets the pod at once, and
// its process is asked to end: it gives up the lead as one does that has time.
func killLeader(e *env) (killed string) {
	e.Helper()
	killed = e.leader()
	e.must(kubeClient.CoreV1().Pods(managerNamespace).Delete(e.ctx, killed, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	return killed
}

func anotherLeadsThan(e *env, leader string) {
	e.Helper()
	e.eventually("another replica leads", func() (bool, any) {
		now := e.leader()
		return now != "" && now != leader, now
	})
}

// restartManager replaces the manager's pods one after the other, and returns when a new one leads and has reconciled a
// ClusterServiceVersion.
func restartManager(e *env) (leader string) {
	e.Helper()
	before := map[string]bool{}
	for _, pod := range e.managerPods() {
		before[pod.Name] = true
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	kube.Patch(e, kubeClient.AppsV1().Deployments(managerNamespace), managerDeployment, types.StrategicMergePatchType, []byte(patch))
	e.eventually("the manager is rolled out", func() (bool, any) {
		d := kube.Get(e, kubeClient.AppsV1().Deployments(managerNamespace), managerDeployment)
		s, wanted := d.Status, *d.Spec.Replicas
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted && s.Replicas == wanted, s
	})
	e.eventually("one of the new pods leads", func() (bool, any) {
		leader = e.leader()
		return leader != "" && !before[leader], leader
	})
	e.eventually("the new leader has reconciled a ClusterServiceVersion", func() (bool, any) {
		n := passes(e, leader)
		return n > 0, n
	})
	return leader
}

// managerWorks waits until all pods of the Deployment are ready, and one of them leads and has reconciled a
// ClusterServiceVersion.
func managerWorks(e *env) {
	e.Helper()
	leader := ""
	e.eventually("one of the ready pods leads", func() (bool, any) {
		leader = e.leader()
		pods := e.managerPods()
		ready := installtest.Count(pods, isReady)
		leads := slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Name == leader })
		return leads && len(pods) == 2 && ready == 2, []any{leader, len(pods), ready}
	})
	e.eventually("the leader has reconciled a ClusterServiceVersion", func() (bool, any) {
		n := passes(e, leader)
		return n > 0, n
	})
}

// stopManager returns when no pod of the manager is left. It runs again for the next test.
func stopManager(e *env) {
	e.Helper()
	e.Cleanup(func() {
		e.ctx = context.WithoutCancel(e.ctx)
		startManager(e)
	})
	scaleManager(e, 0)
	becomes(e, "no pod of the manager is left", func() int { return len(e.managerPods()) }, 0)
}

func startManager(e *env) {
	e.Helper()
	scaleManager(e, 2)
	e.eventually("the manager is back", func() (bool, any) {
		ready, leads := 0, false
		for _, pod := range e.managerPods() {
			leads = leads || pod.Name == e.leader()
			if isReady(pod) {
				ready++
			}
		}
		return ready == 2 && leads, ready
	})
}

func scaleManager(e *env, replicas int) {
	e.Helper()
	scale((&env{T: e.T, ctx: e.ctx, namespace: managerNamespace}), managerDeployment, replicas)
}

// passes is how often a pod of the manager has reconciled a ClusterServiceVersion, to the end and without an error.
func passes(e *env, pod string) int {
	e.Helper()
	n := 0
	for line := range strings.Lines(metrics(e, pod)) {
		const passes = `olm_webhook_manager_reconcile_duration_seconds_count{kind="ClusterServiceVersion",outcome="ok"} `
		if count, found := strings.CutPrefix(line, passes); found {
			_, err := fmt.Sscan(count, &n)
			e.must(err)
		}
	}
	return n
}

// A manager whose pod is deleted during an installation leaves the rest to the other replica. The installation takes
// longer than the kubelet needs to end a process.
func TestLeaderDeletedDuringInstall(t *testing.T) {
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.MinReadySeconds = 8
	e.create(csv)
	e.succeeds(csv.Name)
	undisturbed := e.derived()
	e.uninstall(csv.Name)

	named := func(name string) metav1.ListOptions {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
	}
	for name, watched := range map[string]func() (watch.Interface, error){
		"after its Secret was made": func() (watch.Interface, error) {
			return kubeClient.CoreV1().Secrets(e.namespace).Watch(e.ctx, named("hook-service-cert"))
		},
		"after its Deployment was made": func() (watch.Interface, error) {
			return kubeClient.AppsV1().Deployments(e.namespace).Watch(e.ctx, named("hook"))
		},
	} {
		w, err := watched()
		e.must(err)
		e.create(csv)
		select {
		case <-w.ResultChan():
		case <-time.After(time.Minute):
			t.Fatalf("%s: it was not made within a minute", name)
		}
		killed := killLeader(e)
		w.Stop()
		anotherLeadsThan(e, killed)
		if phase := e.get(csv.Name).Status.Phase; phase == operatorsv1alpha1.CSVPhaseSucceeded {
			t.Fatalf("%s: the installation was over before the other replica led, so this shows nothing", name)
		}
		e.succeeds(csv.Name)
		if diff := cmp.Diff(undisturbed, e.derived()); diff != "" {
			t.Errorf("%s: the objects are others than those of an installation that nothing disturbed (-undisturbed +disturbed):\n%s", name, diff)
		}
		e.denies()
		e.uninstall(csv.Name)
	}
}
