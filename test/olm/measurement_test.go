package olm

import (
	"flag"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// operatorName is the Deployment that installs the versions. olm-operator is only measured: its calls may fail.
var operatorName = flag.String("operator", managerName, "which Deployment works, for TestFlows: olm-operator, or olm-webhook-manager")

// measurement is what the steps of a flow cost.
type measurement struct {
	*env
	steps  []step
	loads  []*calls.Load
	start  int64 // in the audit log
	memory memory
}

type step struct {
	name  string
	began time.Time
	took  time.Duration
}

// measure begins a measurement, which needs a cluster of test/cluster.
func (e *env) measure() *measurement {
	e.Helper()
	if !kube.ClusterAuditLog().Available() {
		e.Skip("the cluster that KUBECONFIG names is not one of test/cluster: there is no audit log to count writes in")
	}
	start, err := kube.ClusterAuditLog().End()
	e.must(err)
	m := &measurement{env: e, start: start}
	m.memory.observe(e)
	return m
}

func (m *measurement) load(l *calls.Load) { m.loads = append(m.loads, l) }

// step does something, and waits for a hundred calls after it.
func (m *measurement) step(name string, do func()) {
	m.Helper()
	began := time.Now()
	do()
	m.steps = append(m.steps, step{name, began, time.Since(began)})
	for _, l := range m.loads {
		l.GoesOn(calls.Outcomes...)
	}
}

// end reports the measurement, and fails the test for calls to the manager's webhooks that failed. Calls are not failed
// that nothing answers after the last step began, if uncovered is set.
func (m *measurement) end(uncovered bool) {
	m.Helper()
	excused := calls.Never
	if uncovered {
		excused = calls.UncoveredSince(m.steps[len(m.steps)-1].began)
	}
	for _, l := range m.loads {
		l.End(func(c calls.Call) bool { return *operatorName != managerName || excused(c) })
	}
	m.Logf("| %s | seconds | calls | failed |", *operatorName)
	m.Log("|---|---|---|---|")
	for i, s := range m.steps {
		until := time.Now()
		if i+1 < len(m.steps) {
			until = m.steps[i+1].began // what comes between is a consequence of the step
		}
		made, failed := m.count(s.began, until, excused)
		m.Logf("| %s | %.1f | %d | %d |", s.name, s.took.Seconds(), made, failed)
	}
	m.Logf("writes: %d; memory of a pod, at most: %d MB", m.writes(), m.memory.end()/1e6)
}

// count returns how many calls were sent in a time, and how many of them were neither answered nor excused.
func (m *measurement) count(from, until time.Time, excused func(calls.Call) bool) (made, failed int) {
	for _, l := range m.loads {
		for _, c := range l.Calls() {
			if c.Sent.Before(from) || !c.Sent.Before(until) {
				continue
			}
			made++
			if (c.Outcome == calls.Failed || c.Outcome == calls.Uncovered) && !excused(c) {
				failed++
			}
		}
	}
	return made, failed
}

func (m *measurement) writes() (n int) {
	m.Helper()
	for _, event := range kube.Writes(kube.ClusterAuditLog().Requests(m, config, m.start), "") {
		if isFrom(event, *operatorName) {
			n++
		}
	}
	return n
}

// isFrom reports whether a pod of the Deployment sent a request.
func isFrom(event auditv1.Event, deployment string) bool {
	for _, pod := range event.User.Extra[serviceaccount.PodNameKey] {
		if strings.HasPrefix(pod, deployment+"-") {
			return true
		}
	}
	return false
}
