package campaign

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
)

// What a scenario needs to fail stays, and everything else is removed.
func TestShrink(t *testing.T) {
	needed := Failure{Request: "update secrets./ shop-1", Number: 3, Fault: apiserver.Fault{LostAnswer: true}}
	other := Failure{Request: "get pods./ shop-0", Number: 1, Fault: apiserver.Fault{LostRequest: true}}
	s := Draw(1)
	s.FailOneIn, s.Crashes, s.Late = 20, []int{5, 9}, []time.Duration{0, time.Second, 0}
	s.Operators = []Operator{
		{Replicas: 3, Mutating: true, OwnNamespace: true, Steps: []Step{{Action: Install}, {After: 30 * time.Second, Action: Upgrade, Await: true}}},
		{Replicas: 2, Mutating: true, Steps: []Step{{Action: Install, Await: true}, {After: 40 * time.Second, Action: Scale}, {Action: Rotate}, {Action: Cut}}},
	}
	fails := func(s Scenario) bool {
		return (s.FailOneIn > 0 || slices.Contains(s.Failures, needed)) && slices.Contains(s.Crashes, 9) && slices.ContainsFunc(s.Operators, func(o Operator) bool {
			return slices.ContainsFunc(o.Steps, func(step Step) bool { return step.Action == Rotate })
		})
	}
	want := Scenario{
		Seed: s.Seed, Late: []time.Duration{0}, Reachable: s.Reachable, Delays: s.Delays, Failures: []Failure{needed}, Crashes: []int{9},
		Operators: []Operator{{Replicas: 1, Steps: []Step{{Action: Rotate, Await: true}}}},
	}
	if got := Shrink(s, []Failure{other, other, needed, other}, 1000, fails); !reflect.DeepEqual(got, want) {
		t.Errorf("shrunk to\n%swant\n%s", got, want)
	}
	if got := Shrink(s, nil, 0, fails); !reflect.DeepEqual(got, s) {
		t.Errorf("without tries, shrunk to\n%s", got)
	}
}
