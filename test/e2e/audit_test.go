package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const userAgent = "olm-webhook-manager/"

// auditLog is next to the kubeconfig of test/cluster's cluster, and not there with others.
func auditLog() kube.AuditLog {
	path := filepath.Join(filepath.Dir(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)), "log", "audit.log")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return kube.AuditLog(path)
}

// audited are the events from a place in the log on, up to this call: a request of its
// own shows the progress of the log.
func audited(e *env, log kube.AuditLog, start int64) (events []auditv1.Event) {
	e.Helper()
	marker := rest.CopyConfig(config)
	marker.UserAgent = fmt.Sprintf("%s at %d", e.namespace, start)
	client, err := kubernetes.NewForConfig(marker)
	e.must(err)
	_, err = client.CoreV1().Namespaces().Get(context.WithoutCancel(e.ctx), e.namespace, metav1.GetOptions{})
	e.must(err)
	e.eventually("the audit log shows this request", func() (bool, any) {
		events, err = log.Since(start)
		e.must(err)
		for _, event := range events {
			if event.UserAgent == marker.UserAgent {
				return true, nil
			}
		}
		return false, len(events)
	})
	return events
}
