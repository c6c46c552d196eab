package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A manager that finds everything as it should be writes nothing and reports nothing, however
// often it looks.
func TestQuiet(t *testing.T) {
	log := auditLog()
	if !log.Available() {
		t.Skip("the cluster that KUBECONFIG names is not the one from test/cluster, so there is no audit log to count its writes in")
	}
	e := newEnv(t)
	start, err := log.End()
	e.must(err)
	operators := []string{"one", "two", "three"}
	for _, name := range operators {
		e.create(hookCSV(name+".v1", server(name)))
	}
	for _, name := range operators {
		e.succeeds(name + ".v1")
		e.webhookIs(name+".v1", "Registered", "Serving")
	}
	e.eventually("it has reported each installation, which it does last", func() (bool, any) {
		events, err := kubeClient.CoreV1().Events(e.namespace).List(e.ctx, metav1.ListOptions{FieldSelector: "reason=InstallSucceeded"})
		e.must(err)
		return len(events.Items) == len(operators), len(events.Items)
	})
	made := audited(e, log, start)
	if writes, told := kube.Writes(made, userAgent), kube.Reported(made, userAgent); len(writes) < 7*len(operators) || len(told) < len(operators) {
		t.Fatalf("the audit log shows %d writes and %d events by the manager for %d installations: is this test looking?", len(writes), len(told), len(operators))
	}

	installed := lastReceived(made)
	start, err = log.End()
	e.must(err)
	leader := restartManager(e)
	looked := 0
	looks := func() {
		e.eventually("the manager has looked at all of them", func() (bool, any) {
			now := passes(e, leader)
			return now >= looked+len(operators), now - looked
		})
		looked = passes(e, leader)
	}
	looks()
	for again := range 3 {
		look := fmt.Appendf(nil, `{"metadata":{"labels":{"e2e.example.com/look":"%d"}}}`, again)
		_, err = kubeClient.CoreV1().Namespaces().Patch(e.ctx, e.namespace, types.MergePatchType, look, metav1.PatchOptions{})
		e.must(err)
		looks()
	}
	// What was asked for before may stand in the log behind what was asked for later.
	idle := slices.DeleteFunc(audited(e, log, start), func(event auditv1.Event) bool { return !event.RequestReceivedTimestamp.After(installed) })
	for _, request := range slices.Concat(kube.Writes(idle, userAgent), kube.Reported(idle, userAgent)) {
		t.Errorf("a manager that had nothing to do sent: %s %s", request.Verb, request.RequestURI)
	}
}

// lastReceived is when the API server received the last of the requests.
func lastReceived(events []auditv1.Event) (last time.Time) {
	for _, event := range events {
		if event.RequestReceivedTimestamp.After(last) {
			last = event.RequestReceivedTimestamp.Time
		}
	}
	return last
}

// userAgent is how the manager's begins.
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
