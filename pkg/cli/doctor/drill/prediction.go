package drill

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Prediction is what returns after all pods are lost. The API server and etcd run; the other programs of the control plane
// and the kubelets start again.
type Prediction struct {
	// Waves are the parts that return, in their order. The first wave needs no webhook of the cluster.
	Waves []Wave `json:"waves"`
	// Never are the parts that do not return, or perhaps do not.
	Never []Stuck `json:"never"`
	// Cycles are the parts that keep each other from returning, DeadEnds the webhooks whose servers do not return for another cause.
	Cycles   []Cycle   `json:"cycles"`
	DeadEnds []DeadEnd `json:"deadEnds"`
	// Assumptions are what the snapshot does not have, and what changes with time.
	Assumptions []string `json:"assumptions"`
	// Questions are what conditions ask the authorizer, and the snapshot does not answer.
	Questions []explain.Access `json:"-"`

	// sure and all are the views of the certain needs and of all needs.
	sure, all view
}

// Wave are the parts that return together.
type Wave struct {
	Number int    `json:"number"`
	Parts  []Part `json:"parts"`
}

// Stuck is a part that does not return.
type Stuck struct {
	Part

	// Certain reports that it does not return. Otherwise it depends on something that is not known.
	Certain bool   `json:"certain"`
	Waits   []Wait `json:"waits"`
}

// Wait is what a part waits for.
type Wait struct {
	// Request is the operation and the resource that a webhook sees, and User who sends it; empty without a request.
	Request string `json:"request,omitempty"`
	User    string `json:"user,omitempty"`
	// For are the parts of which one would be enough.
	For []Part `json:"for"`
	// Because is the cause of a wait without a request.
	Because string `json:"because,omitempty"`
}

// Cycle are parts that keep each other from returning.
type Cycle struct {
	Certain bool    `json:"certain"`
	Parts   []Stuck `json:"parts"`

	Solution
}

// DeadEnd is a webhook whose server does not return, although no webhook keeps it from returning.
type DeadEnd struct {
	Certain bool `json:"certain"`
	Webhook Part `json:"webhook"`
	// Part is the part that cannot return, and Because the cause.
	Part    Part   `json:"part"`
	Because string `json:"because"`
	// Waiting are the parts that need a request which the webhook sees.
	Waiting []Part `json:"waiting"`

	Solution
}

// Predict returns what returns after all pods of a cluster are lost.
func Predict(s Snapshot) (Prediction, error) {
	s, open := closed(s)
	g, questions, err := build(s)
	if err != nil {
		return Prediction{}, err
	}
	p := Prediction{sure: g.counting(true), all: g.counting(false), Questions: questions, Assumptions: append(s.assumptions(), open...)}
	p.Waves = p.sure.waves()
	for i := range g.parts {
		if p.all.returned[i] == never {
			p.Never = append(p.Never, p.viewOf(i).stuck(i))
		}
	}
	p.findCycles(found(s))
	return p, nil
}

// viewOf returns the view of certain needs if the part certainly does not return.
func (p Prediction) viewOf(i int) view {
	if p.sure.returned[i] == never {
		return p.sure
	}
	return p.all
}

// findCycles adds the cycles and the dead ends.
func (p *Prediction) findCycles(found map[Part]registered) {
	inCycle := map[int]bool{}
	for _, v := range []view{p.sure, p.all} {
		c := changer{v, found}
		for _, cycle := range v.cycles() {
			if !slices.ContainsFunc(cycle, func(i int) bool { return inCycle[i] }) {
				p.Cycles = append(p.Cycles, c.cycle(cycle))
			}
			mark(inCycle, cycle)
		}
	}
	for i, part := range p.all.parts {
		if !part.isWebhook() || p.all.returned[i] != never {
			continue
		}
		if end, relevant := (changer{p.viewOf(i), found}).deadEnd(i, inCycle); relevant {
			p.DeadEnds = append(p.DeadEnds, end)
		}
	}
}

func mark(marked map[int]bool, these []int) {
	for _, i := range these {
		marked[i] = true
	}
}

func (v view) waves() []Wave {
	var all []Wave
	for wave := 1; slices.Contains(v.returned, wave); wave++ {
		parts := lists.Filter(v.indexes(), func(i int) bool { return v.returned[i] == wave })
		all = append(all, Wave{wave, v.named(parts)})
	}
	return all
}

func (v view) indexes() []int {
	all := make([]int, len(v.parts))
	for i := range all {
		all[i] = i
	}
	return all
}

func (v view) named(parts []int) []Part {
	return lists.Map(parts, func(i int) Part { return v.parts[i].Part })
}

func (v view) stuck(i int) Stuck { return Stuck{v.parts[i].Part, v.certain, v.waits(v.missing(i))} }

func (v view) waits(needs []need) []Wait {
	return lists.Map(needs, func(n need) Wait {
		w := Wait{For: v.named(n.any), Because: n.because}
		if n.request != nil {
			w.Request, w.User = n.request.String(), n.request.user.Name
		}
		return w
	})
}

// Blocked reports whether webhooks certainly keep a part from returning, and whether they perhaps do.
func (p Prediction) Blocked() (surely, perhaps bool) {
	for _, s := range p.Never {
		if !slices.ContainsFunc(s.Waits, func(w Wait) bool { return w.Request != "" }) {
			continue
		}
		if s.Certain {
			surely = true
		} else {
			perhaps = true
		}
	}
	return surely, perhaps
}

// assumptions are what is assumed because the snapshot lacks it.
func (s Snapshot) assumptions() []string {
	var all []string
	if len(s.Nodes) == 0 {
		all = append(all, "there is no Node: it is assumed that Nodes become Ready")
	}
	if len(s.Leases) == 0 {
		all = append(all, "there is no Lease: it is assumed that no program of the control plane and no kubelet needs one")
	}
	if len(s.Accounts) == 0 {
		all = append(all, "there is no ServiceAccount: it is assumed that each controller of the controller manager has its own, and that pods mount a token")
	}
	return all
}
