package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func auditEnd(e *env) int64 {
	e.Helper()
	end := installtest.OrPanic(cluster.Audit.End())
	return end
}

func (m *manager) audited(since int64) []auditv1.Event {
	m.Helper()
	var events []auditv1.Event
	mark := m.mark()
	m.eventually("the audit log is written", func() (bool, any) {
		all, err := cluster.Audit.Since(since)
		m.must(err)
		events = nil
		marked := false
		for _, event := range all {
			marked = marked || event.UserAgent == mark
			if event.UserAgent == m.userAgent {
				events = append(events, event)
			}
		}
		return marked, len(all)
	})
	return events
}

// mark sends a request of its own kind, to be found in the audit log behind all that were answered before it.
func (e *env) mark() (userAgent string) {
	e.Helper()
	config := cluster.Config()
	e.marks++
	config.UserAgent = fmt.Sprintf("%s/mark-%d", e.namespace, e.marks)
	client := installtest.OrPanic(kubernetes.NewForConfig(config))
	kube.Get(e, client.CoreV1().Namespaces(), e.namespace)
	return config.UserAgent
}

// writes are the manager's requests that change something, or try to, each as its
// verb, resource and name; those of leases and events do not count.
func (m *manager) writes(since int64) []string {
	m.Helper()
	return inWords(kube.Writes(m.audited(since), m.userAgent))
}

func (m *manager) changes(since int64) []string {
	m.Helper()
	refused := func(e auditv1.Event) bool {
		return e.ResponseStatus != nil && e.ResponseStatus.Code >= http.StatusBadRequest
	}
	return inWords(slices.DeleteFunc(kube.Writes(m.audited(since), m.userAgent), refused))
}

func inWords(events []auditv1.Event) []string {
	var words []string
	for _, event := range events {
		o := event.ObjectRef
		words = append(words, event.Verb+" "+strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/")+" "+o.Name)
	}
	return words
}

func (m *manager) writesNothing(since int64) {
	m.Helper()
	none(m, "writes of the manager although nothing changed", m.writes(since))
}

// noneIsForbidden fails the test for each request that the API server's authorizer refused.
func noneIsForbidden(e *env, requests []auditv1.Event) {
	e.Helper()
	for _, request := range requests {
		status := request.ResponseStatus
		if status != nil && status.Code == http.StatusForbidden && !strings.Contains(status.Message, render.CanaryCondition) { // a canary refuses
			e.Errorf("forbidden: %s %s: %s", request.Verb, request.RequestURI, request.ResponseStatus.Message)
		}
	}
}
