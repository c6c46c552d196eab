package campaign

import (
	"math/rand/v2"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// How late an API server may be. Where the manager can ask API servers, one that is later than eight seconds stops each rotation; else the
// manager waits for the settle time, which is five seconds.
const (
	latestReachable = 7 * time.Second
	latest          = 4500 * time.Millisecond
)

// Draw returns the scenario of a seed.
func Draw(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, seed))
	s := Scenario{Seed: seed, Reachable: r.IntN(3) == 0, Delays: drawDelays(r)}
	s.Late = []time.Duration{0}
	if r.IntN(4) > 0 {
		s.Late = append(s.Late, drawLateness(r, s.Reachable, 4, 5))
	}
	if r.IntN(5) > 0 {
		s.Late = append(s.Late, drawLateness(r, s.Reachable, 1, 3))
	}
	for range 1 + r.IntN(2) {
		s.Operators = append(s.Operators, drawOperator(r))
	}
	if r.IntN(3) > 0 {
		s.FailOneIn = 10 + r.IntN(50)
	}
	for range r.IntN(3) {
		s.Crashes = append(s.Crashes, 1+r.IntN(60))
	}
	return s
}

// drawLateness returns a time that is not zero in some of a number of cases.
func drawLateness(r *rand.Rand, reachable bool, late, of int) time.Duration {
	longest := latest
	if reachable {
		longest = latestReachable
	}
	if r.IntN(of) >= late {
		return 0
	}
	return time.Duration(r.Int64N(int64(longest)))
}

// drawDelays draws delays of different orders of magnitude. The short ones show where the manager does not wait for something else.
func drawDelays(r *rand.Rand) world.Delays {
	short, second, long, minute := 100*time.Millisecond, time.Second, 10*time.Second, time.Minute
	of := func(longest ...time.Duration) time.Duration { return longest[r.IntN(len(longest))] }
	return world.Delays{
		Start: of(short, second, long), Stop: of(second, long), Kubelet: of(short, short, second, long, minute), Reload: of(short, short, second, long),
		Controllers: short,
	}
}

func drawOperator(r *rand.Rand) Operator {
	o := Operator{Replicas: 1 + r.IntN(3), Mutating: r.IntN(3) == 0, OwnNamespace: r.IntN(2) == 0, Labelled: r.IntN(4) == 0}
	o.Steps = []Step{{After: drawPause(r), Action: Install, Await: r.IntN(4) > 0}}
	actions := []Action{Rotate, Rotate, Rotate, Rotate, Rotate, Upgrade, Upgrade, Uninstall, Install, Scale, Restart, Tamper, Lose, Cut}
	for range 2 + r.IntN(4) {
		o.Steps = append(o.Steps, Step{After: drawPause(r), Action: actions[r.IntN(len(actions))], Await: r.IntN(4) > 0})
	}
	return o
}

func drawPause(r *rand.Rand) time.Duration {
	longest := []time.Duration{100 * time.Millisecond, 5 * time.Second, time.Minute}
	return time.Duration(r.Int64N(int64(longest[r.IntN(3)])))
}
