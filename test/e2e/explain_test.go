package e2e

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

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
