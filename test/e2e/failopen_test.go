package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Two webhooks lose all their pods under load. One may open: requests pass after the stated time, it closes when its pods
// serve again, and the audit lists exactly what passed and what the webhook would have refused. The other one stays as it is.
func TestFailOpen(t *testing.T) {
	t.Parallel()
	e, other := newEnv(t), newHookEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	csv.Annotations = map[string]string{wellknown.AnnotationFailOpenAfter: "30s", wellknown.AnnotationFailOpenFor: "10m"}
	e.create(csv)
	e.succeeds("hook.v1")
	w := startWriter(e)
	w.eventually("the webhook refuses objects", func() (bool, any) { return w.count(refused) > 5, w.outcomes() })

	scale(e, "hook", 0)
	scale(other, "hook", 0)
	w.eventually("the webhook is open", func() (bool, any) { f := failOpenOf(e); return f.IsOpen(), f })
	passed := w.count(stored)
	w.eventually("objects pass without the webhook", func() (bool, any) { return w.count(stored) > passed+50, w.outcomes() })
	installtest.Same(t, "a call of the webhook that must not open", calls.Failed, other.call(other.ctx, true).Outcome)
	installtest.Same(t, "its openings", nil, failOpenOf(other))
	installtest.Same(t, "its failurePolicy", admissionregistrationv1.Fail, *other.registration().Webhooks[0].FailurePolicy)

	scaled := time.Now()
	scale(e, "hook", 2)
	w.eventually("the webhook is closed", func() (bool, any) { f := failOpenOf(e); return f != nil && !f.IsOpen(), f })
	callsAre(e, calls.Denied)
	w.end()
	opening := failOpenOf(e).Openings[0]
	installtest.Same(t, "why it closed", managerv1alpha1.ClosedServed, opening.ClosedBy)
	installtest.Same(t, "the registration is as declared", 1, len(e.registration().Webhooks))

	// Without pods, the webhook judges no object. With pods, it judges some while it is still open.
	unjudged := w.names(func(o written) bool {
		return o.outcome == stored && (o.denied || o.created.After(opening.From.Add(time.Second)) && o.created.Before(scaled.Add(-time.Second)))
	})
	during := w.names(func(o written) bool {
		return o.outcome == stored && !o.created.Before(opening.From.Add(-time.Second)) && !o.created.After(opening.Until.Add(time.Second))
	})
	report := e.audits()
	hasAll(t, report.of(e, func(audit.Entry) bool { return true }), unjudged)
	certain := report.of(e, func(entry audit.Entry) bool { return entry.Certainty == audit.Certain })
	hasAll(t, during, certain)
	installtest.Same(t, "what the replay finds refused", w.names(func(o written) bool { return o.outcome == stored && o.denied }),
		report.of(e, func(entry audit.Entry) bool { return entry.Replay != nil && entry.Replay.Result == audit.Refused }))

	if log := kube.ClusterAuditLog(); log.Available() {
		byLog := e.audits("--audit-log", string(log)).of(e, func(audit.Entry) bool { return true })
		hasAll(t, byLog, unjudged)
		hasAll(t, during, byLog)
	}
}

// hasAll fails for each expected name that a list lacks.
func hasAll(t *testing.T, list, expected []string) {
	t.Helper()
	for _, name := range expected {
		if !slices.Contains(list, name) {
			t.Errorf("%s is missing in %v", name, list)
		}
	}
}

func failOpenOf(e *env) *managerv1alpha1.FailOpen {
	e.Helper()
	return kube.Get(e, olmClient.WebhookRollouts(e.namespace), "hook.v1").Status.Deployments[0].Webhooks[0].FailOpen
}

// result is what became of a write.
type result int

const (
	stored  result = iota
	refused        // the webhook answered
	failed         // it did not answer
)

type written struct {
	name    string
	denied  bool // the webhook denies the object
	outcome result
	created time.Time
}

// writer creates ConfigMaps, every second one of which the webhook denies.
type writer struct {
	*env
	mutex  sync.Mutex
	all    []written
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func startWriter(e *env) *writer {
	e.Helper()
	w := &writer{env: e}
	ctx, cancel := context.WithCancel(e.ctx)
	w.cancel = cancel
	w.ended.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			w.write(i)
		}
	})
	e.Cleanup(w.end)
	return w
}

// write creates at most ten objects a second. The end of the writer does not interrupt it: the audit lists what was stored.
func (w *writer) write(i int) {
	due := time.After(100 * time.Millisecond)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%04d", i)}}
	if i%2 == 1 {
		object.Labels = map[string]string{"deny": "true"}
	}
	created, err := kubeClient.CoreV1().ConfigMaps(w.namespace).Create(w.ctx, object, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "webhook") { // the answer is lost; the object may exist
		created, err = kubeClient.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, object.Name, metav1.GetOptions{})
	}
	o := written{name: object.Name, denied: i%2 == 1, outcome: failed}
	switch {
	case err == nil:
		o.outcome, o.created = stored, created.CreationTimestamp.Time
	case strings.Contains(err.Error(), "denied the request"):
		o.outcome = refused
	}
	w.mutex.Lock()
	w.all = append(w.all, o)
	w.mutex.Unlock()
	<-due
}

func (w *writer) end() {
	w.cancel()
	w.ended.Wait()
}

func (w *writer) names(are func(written) bool) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var all []string
	for _, o := range w.all {
		if are(o) {
			all = append(all, o.name)
		}
	}
	return all
}

func (w *writer) count(outcome result) int {
	return len(w.names(func(o written) bool { return o.outcome == outcome }))
}

func (w *writer) outcomes() string {
	return fmt.Sprintf("%d stored, %d refused, %d failed", w.count(stored), w.count(refused), w.count(failed))
}

type auditReport struct{ audit.Report }

// audits runs the command after the webhook has closed. It ends with 2: the webhook refuses some objects.
func (e *env) audits(flags ...string) auditReport {
	e.Helper()
	command, err := webhooksCommand(e.ctx, append([]string{"audit", "configmaps.hook.example.com", "-n", e.namespace, "--replay", "-o", "json"}, flags...)...)
	e.must(err)
	output, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		e.Fatalf("audit: %v\n%s", err, output)
	}
	var report auditReport
	if err := json.Unmarshal(output, &report.Report); err != nil {
		e.Fatalf("audit: %v\n%s\n%s", err, output, exit.Stderr)
	}
	return report
}

// of returns the names of the listed ConfigMaps of a Namespace.
func (r auditReport) of(e *env, are func(audit.Entry) bool) []string {
	var all []string
	for _, entry := range r.Entries {
		if entry.Namespace == e.namespace && are(entry) {
			all = append(all, entry.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
