package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A manager that finds everything as it should be writes nothing, however often it looks.
func TestQuiet(t *testing.T) {
	log := auditLog()
	if !log.Available() {
		t.Skip("the cluster that KUBECONFIG names is not the one from test/cluster, so there is no audit log to count its writes in")
	}
	e := newEnv(t)
	start, err := log.End()
	e.must(err)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	e.webhookIs("hook.v1", "Registered", "Serving")
	if made := kube.Writes(e.audited(log, start), "olm-webhook-manager/"); len(made) < 7 {
		t.Fatalf("the audit log shows %d writes by the manager for an installation: is this test looking?", len(made))
	}

	start, err = log.End()
	e.must(err)
	leader := e.restartManager()
	before := e.passes(leader)
	look := `{"metadata":{"labels":{"e2e.example.com/look":"again"}}}`
	_, err = kubeClient.CoreV1().Namespaces().Patch(e.ctx, e.namespace, types.MergePatchType, []byte(look), metav1.PatchOptions{})
	e.must(err)
	e.eventually("the manager looks again", func() (bool, any) {
		now := e.passes(leader)
		return now > before, now
	})
	for _, write := range kube.Writes(e.audited(log, start), "olm-webhook-manager/") {
		t.Errorf("a manager that had nothing to do sent: %s %s", write.Verb, write.RequestURI)
	}
}

// auditLog is beside the kubeconfig of test/cluster's cluster, and not there with others.
func auditLog() kube.AuditLog {
	path := filepath.Join(filepath.Dir(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)), "log", "audit.log")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return kube.AuditLog(path)
}

// audited are the events from a place in the log on, up to this call: a request of its
// own shows how far the log is.
func (e *env) audited(log kube.AuditLog, start int64) (events []auditv1.Event) {
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
