package e2e

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
)

// explain prints what an administrator would look at.
func (e *env) explain() {
	csvs, err := olmClient.ClusterServiceVersions(e.namespace).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	for _, c := range csvs.Items {
		e.Logf("csv %s is %s/%s: %s", c.Name, c.Status.Phase, c.Status.Reason, csvstatus.Explained(c.Status))
	}
	rollouts, err := olmClient.WebhookRollouts(e.namespace).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	for _, r := range rollouts.Items {
		for _, d := range r.Status.Deployments {
			e.Logf("deployment %s is %s/%s: %s", d.Name, d.State, d.Reason, d.Message)
			for _, w := range d.Webhooks {
				e.Logf("webhook %s is %s/%s since %s: %s", w.GenerateName, w.State, w.Reason, w.Since, w.Message)
			}
		}
	}
	events, err := kubeClient.CoreV1().Events(e.namespace).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	for _, event := range events.Items {
		e.Logf("event %s %s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
	explainManager(e)
}

// explainManager prints what the manager logged about the Namespace during the test.
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
