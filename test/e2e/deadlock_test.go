package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// An operator that intercepts pods everywhere, with failurePolicy Fail, loses all its pods
// at once: nobody could judge those that replace them, and they come back all the same.
// Everybody else's wait meanwhile.
func TestInterceptsItsOwnPods(t *testing.T) {
	e := newBareEnv(t)
	_, err := olmClient.OperatorsV1().OperatorGroups(e.namespace).Create(e.ctx, &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "all"}}, metav1.CreateOptions{})
	e.must(err)
	e.create(podInterceptor())
	e.succeeds("hook.v1")
	before := e.podUIDs()

	e.deletePodsAtOnce()
	e.eventually("somebody else's pod is refused while nobody judges it", func() (bool, any) {
		err := e.tryAPod(nil)
		return err != nil && strings.Contains(err.Error(), "failed calling webhook"), err
	})
	e.eventually("all its pods are others, and ready", func() (bool, any) {
		d, err := kubeClient.AppsV1().Deployments(e.namespace).Get(e.ctx, "hook", metav1.GetOptions{})
		e.must(err)
		return d.Status.ReadyReplicas == 2 && e.podUIDs().Intersection(before).Len() == 0, d.Status
	})
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	e.eventually("somebody else's pod is judged again", func() (bool, any) {
		err := e.tryAPod(map[string]string{"deny": "true"})
		return err != nil && strings.Contains(err.Error(), "labelled deny=true"), err
	})
	e.must(e.tryAPod(nil))
}

// podInterceptor has a webhook on every step of a pod's life, in all namespaces.
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
// about to go.
func (e *env) deletePodsAtOnce() {
	e.Helper()
	pods, err := kubeClient.CoreV1().Pods(e.namespace).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	var deletions errgroup.Group
	for _, pod := range pods.Items {
		deletions.Go(func() error {
			return kubeClient.CoreV1().Pods(e.namespace).Delete(e.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		})
	}
	e.must(deletions.Wait())
}

func (e *env) podUIDs() sets.Set[types.UID] {
	e.Helper()
	pods, err := kubeClient.CoreV1().Pods(e.namespace).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	uids := sets.New[types.UID]()
	for _, pod := range pods.Items {
		uids.Insert(pod.UID)
	}
	return uids
}

// tryAPod asks whether a person may create one.
func (e *env) tryAPod(labels map[string]string) error {
	_, err := kubeClient.CoreV1().Pods(e.namespace).Create(e.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "somebody", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "somebody", Image: hookImage}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
