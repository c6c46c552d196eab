package campaign

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// usual are delays as in a small cluster.
var usual = world.Delays{Start: 2 * time.Second, Stop: 2 * time.Second, Kubelet: time.Minute, Reload: time.Second, Controllers: 100 * time.Millisecond}

// installed is an operator that is installed and whose certificate is rotated once.
func installed(pause time.Duration) []Operator {
	return []Operator{{Replicas: 2, Steps: []Step{{Action: Install, Await: true}, {After: pause, Action: Rotate, Await: true}}}}
}

// Scenarios with a meaning of their own. The limits that are documented show that the judge sees what it should see.
func TestScenarios(t *testing.T) {
	start := world.Defined(t, root)
	scenarios := kept(t)
	for name, s := range map[string]Scenario{
		"one API server":             {Late: lateness(0)},
		"the manager's is late":      {Late: lateness(0, 0, 500*time.Millisecond), Reachable: true},
		"another API server is late": {Late: lateness(0, 4*time.Second, 0)},
		// Here the manager cannot ask API servers: it waits for the settle time.
		"an API server is later than the settle time": {Late: lateness(0, 5*time.Minute, 0), Violates: []string{"I2", "I5"}},
	} {
		s.Seed, s.Delays, s.Operators = 1, usual, installed(6*time.Minute)
		scenarios[name] = s
	}
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			if text := complaints(s, bubble(t, start, s)); text != "" {
				t.Error(text)
			}
		})
	}
}

// kept are the scenarios in testdata, which violated an invariant once.
func kept(t *testing.T) map[string]Scenario {
	t.Helper()
	all := map[string]Scenario{}
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var s Scenario
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = s
	}
	return all
}

func lateness(each ...time.Duration) []time.Duration { return each }
