package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Each API server has its own view of a registration. With three of them, an operator is installed, its certificate is
// rotated, and it is uninstalled, and no call fails through any of them: with nothing else, with one that is behind the
// others, and with one that restarts.
func TestEachAPIServer(t *testing.T) {
	s := severalAPIServers(t)
	for _, test := range []struct {
		name    string
		disturb disturbance
	}{
		{"nothing else", undisturbed},
		{"one is behind", holdsOne},
		{"one restarts", restartsOne},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEnv(t)
			step(e, s, "install", test.disturb, func(load *calls.Load) func(calls.Call) bool {
				e.create(hookCSV("hook.v1", draining(server("hook", "--reload"))))
				live := e.succeeds("hook.v1")
				load.GoesOn(calls.Denied)
				return calls.UncoveredBefore(live)
			})
			step(e, s, "rotation", test.disturb, func(load *calls.Load) func(calls.Call) bool {
				began := time.Now()
				e.order("hook.v1", "once")
				rotatesSince(e, began, 2)
				load.GoesOn(calls.Denied)
				return calls.Never
			})
			step(e, s, "uninstall", test.disturb, func(load *calls.Load) func(calls.Call) bool {
				deleted := time.Now()
				e.uninstall("hook.v1")
				becomes(e, "its pods no longer exist", func() int {
					return len(kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{}).Items)
				}, 0)
				load.GoesOn(calls.Uncovered)
				return calls.UncoveredSince(deleted)
			})
		})
	}
}

// step does something under a load while an API server is disturbed, and until that is over. A step that fails does not
// keep the next one from being done.
func step(e *env, s *apiServers, name string, disturb disturbance, do func(*calls.Load) (excuses func(calls.Call) bool)) {
	e.Helper()
	test := e.T
	defer func() { e.T = test }()
	test.Run(name, func(t *testing.T) {
		e.T = t
		haveKubeletsLook(e) // by themselves they do not for a minute
		load := s.startLoad(e)
		load.GoesOn(calls.Outcomes...)
		d := disturb(t, s)
		excuses := do(load)
		d.end()
		load.GoesOn(calls.Outcomes...)
		load.End(func(c calls.Call) bool { return excuses(c) || d.excuses(c) })
		t.Logf("calls by API server: %v", s.outcomes(load))
	})
}
