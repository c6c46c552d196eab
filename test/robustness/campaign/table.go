package campaign

import (
	"fmt"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
)

// String returns the scenario as a table of steps.
func (s Scenario) String() string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("seed %d", s.Seed)
	for i, late := range s.Late {
		line("  API server %d: %v late", i, late)
	}
	line("  the manager can ask each API server: %t", s.Reachable)
	line("  delays: start %v, stop %v, kubelet up to %v, reload %v", s.Delays.Start, s.Delays.Stop, s.Delays.Kubelet, s.Delays.Reload)
	if s.FailOneIn > 0 {
		line("  one in %d requests of the manager fails", s.FailOneIn)
	}
	for _, f := range s.Failures {
		line("  fails: %s, request %d: %s", f.Request, f.Number, faultText(f.Fault))
	}
	for i, after := range s.Crashes {
		line("  manager %d crashes after its write %d", i, after)
	}
	for i, o := range s.Operators {
		line("  operator %d: %d replicas, mutating webhook: %t, only its own namespace: %t", i, o.Replicas, o.Mutating, o.OwnNamespace)
		if o.Labelled {
			line("    another client has a webhook configuration with its labels")
		}
		if o.Occupied {
			line("    another client has a Service with its name for %v", occupation)
		}
		for _, step := range o.Steps {
			line("    after %8v: %s%s", step.After.Round(time.Millisecond), step.Action, map[bool]string{true: ", until it is complete"}[step.Await])
		}
	}
	return text.String()
}

func faultText(f apiserver.Fault) string {
	switch {
	case f.LostRequest:
		return "the request is lost"
	case f.LostAnswer:
		return "the answer is lost"
	case f.Status != nil:
		return fmt.Sprintf("the answer is %d", f.Status.Code)
	default:
		return fmt.Sprintf("it takes %v", f.Delay)
	}
}
