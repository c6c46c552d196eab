package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An operator that intercepts pods everywhere, with failurePolicy Fail, loses all its pods at once. They return,
// although no endpoint could review them, while the pods of others wait.
func TestInterceptsItsOwnPods(t *testing.T) {
	e := newBareEnv(t)
	kube.Create(e, olmClient.OperatorGroups(e.namespace), &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "all"}})
	e.create(podInterceptor())
	e.succeeds("hook.v1")
	before := podUIDs(e)

	deletePodsAtOnce(e)
	e.eventually("another client's pod is refused while no endpoint reviews it", func() (bool, any) { return nobodyJudges(e), nil })
	e.eventually("all its pods are others, and ready", func() (bool, any) {
		d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook")
		return d.Status.ReadyReplicas == 2 && podUIDs(e).Intersection(before).Len() == 0, d.Status
	})
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	e.eventually("another client's pod is judged again", func() (bool, any) {
		err := tryAPod(e, map[string]string{"deny": "true"})
		return err != nil && strings.Contains(err.Error(), "labelled deny=true"), err
	})
	e.must(tryAPod(e, nil))
	staysDownUnguarded(e)
}

// staysDownUnguarded is the control: without its matchConditions, as OLM v0 registers it, the webhook keeps its own
// pods from returning. It excludes the manager's Namespace, since the manager could not be recreated either, and
// deletions, which this test needs.
func staysDownUnguarded(e *env) {
	e.Helper()
	guarded := e.registration()
	if len(guarded.Webhooks[0].MatchConditions) == 0 {
		e.Fatal("there are no matchConditions: nothing guards this webhook")
	}
	stopManager(e)
	unguarded := guarded.DeepCopy()
	unguarded.Webhooks[0].MatchConditions = nil
	for i := range unguarded.Webhooks[0].Rules {
		unguarded.Webhooks[0].Rules[i].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	}
	unguarded.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{managerNamespace}},
	}}
	kube.Update(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), unguarded)
	e.eventually("API servers have learned of it: the manager's Namespace is left out", func() (bool, any) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "somebody", Labels: map[string]string{"deny": "true"}}}
		_, err := kubeClient.CoordinationV1().Leases(managerNamespace).Create(e.ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil, err
	})

	deletePods(e)
	_, before := refusedPods(e)
	e.eventually("no pod exists any more, and none returns in three attempts", func() (bool, any) {
		said, refused := refusedPods(e)
		left := e.pods()
		// What an ending webhook admitted is deleted when it admits no others. No other client deletes any, so that none is missed.
		if len(left) > 0 && (nobodyJudges(e) || slices.ContainsFunc(left, isReady)) {
			deletePods(e)
			_, before = refusedPods(e)
		}
		return len(left) == 0 && refused >= before+3, fmt.Sprintf("%d pods left, %d were refused since: %s", len(left), refused-before, said)
	})
	said, refused := refusedPods(e)
	e.Logf("without matchConditions %d pods were refused: %s", refused, said)
	(&terminal{env: e}).fails(2, []string{
		"ERROR Deadlock\n  ValidatingWebhookConfiguration " + unguarded.Name + ": webhook configmaps.hook.example.com\n" +
			"  none of its pods is called, and none can become ready: it intercepts what the pods behind its own Service " + e.namespace + "/hook-service need to start\n" +
			"  Way out: kubectl delete validatingwebhookconfiguration " + unguarded.Name + ` ("Emergency: a webhook blocks the cluster" in docs/admin/emergency.md)`,
	}, "doctor")
	startManager(e)
	e.rolledOut("hook")
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	installtest.Same(e, "webhooks", guarded.Webhooks, e.registration().Webhooks)
}

// refusedPods is what the replicaset controller reports when the webhook cannot be asked about a
// pod, and how often it has reported it.
func refusedPods(e *env) (said string, times int32) {
	e.Helper()
	for _, event := range kube.List(e, kubeClient.CoreV1().Events(e.namespace), metav1.ListOptions{FieldSelector: "involvedObject.kind=ReplicaSet,reason=FailedCreate"}).Items {
		if strings.Contains(event.Message, `failed calling webhook "configmaps.hook.example.com"`) {
			said, times = event.Message, times+event.Count
		}
	}
	return said, times
}

func podInterceptor() *operatorsv1alpha1.ClusterServiceVersion {
	csv := hookCSV("hook.v1", server("hook"))
	csv.Spec.InstallModes[0].Type = operatorsv1alpha1.InstallModeTypeAllNamespaces
	w := &csv.Spec.WebhookDefinitions[0]
	w.TimeoutSeconds = new(int32(2))
	w.Rules = []admissionregistrationv1.RuleWithOperations{
		everything("", "pods", "pods/status", "pods/binding", "pods/eviction", "endpoints", "serviceaccounts/token", "nodes", "nodes/status"),
		everything("apps", "replicasets", "deployments"),
		everything("discovery.k8s.io", "endpointslices"),
		everything("coordination.k8s.io", "leases"),
	}
	return csv
}

func everything(group string, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
	}
}

// deletePodsAtOnce deletes all pods side by side: each deletion is judged by a pod that is
// about to be deleted, and is requested again where that one was deleted already.
func deletePodsAtOnce(e *env) {
	e.Helper()
	pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{})
	var deletions errgroup.Group
	for _, pod := range pods.Items {
		deletions.Go(func() error {
			return retry.OnError(retry.DefaultBackoff, isUnjudged, func() error {
				return kubeClient.CoreV1().Pods(e.namespace).Delete(e.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			})
		})
	}
	e.must(deletions.Wait())
}

func podUIDs(e *env) sets.Set[types.UID] {
	e.Helper()
	pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{})
	uids := sets.New[types.UID]()
	for _, pod := range pods.Items {
		uids.Insert(pod.UID)
	}
	return uids
}

// nobodyJudges reports whether a person's pod is refused because an answer is missing.
func nobodyJudges(e *env) bool {
	return isUnjudged(tryAPod(e, nil))
}

func isUnjudged(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook")
}

func tryAPod(e *env, labels map[string]string) error {
	_, err := kubeClient.CoreV1().Pods(e.namespace).Create(e.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "somebody", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "somebody", Image: hookImage}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
