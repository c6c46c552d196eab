package drill

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// changer finds the changes that let parts return.
type changer struct {
	view

	found map[Part]registered
}

func (c changer) cycle(parts []int) Cycle {
	inside := func(n need) bool {
		return slices.ContainsFunc(n.any, func(i int) bool { return slices.Contains(parts, i) })
	}
	return Cycle{
		Certain: c.certain, Solution: c.solve(parts, nil),
		Parts: lists.Map(parts, func(i int) Stuck {
			return Stuck{c.parts[i].Part, c.certain, c.waits(lists.Filter(c.missing(i), inside))}
		}),
	}
}

// deadEnd returns false for a webhook that waits for a cycle, and for one that no part waits for.
func (c changer) deadEnd(webhook int, inCycle map[int]bool) (DeadEnd, bool) {
	part, because := c.end(webhook, inCycle, map[int]bool{})
	waiting := lists.Filter(c.indexes(), func(i int) bool {
		return slices.ContainsFunc(c.missing(i), func(n need) bool { return n.request != nil && slices.Contains(n.any, webhook) })
	})
	if because == "" || len(waiting) == 0 {
		return DeadEnd{}, false
	}
	return DeadEnd{
		Certain: c.certain, Webhook: c.parts[webhook].Part, Part: c.parts[part].Part, Because: because,
		Waiting: c.named(waiting), Solution: c.solve(waiting, []int{webhook}),
	}, true
}

// end follows what a part waits for, to a part that cannot return. It returns no cause if it finds a cycle.
func (c changer) end(i int, inCycle, seen map[int]bool) (part int, because string) {
	if inCycle[i] || seen[i] {
		return i, ""
	}
	seen[i] = true
	for _, n := range c.missing(i) {
		if len(n.any) == 0 {
			return i, n.because
		}
		for _, j := range n.any {
			if part, because := c.end(j, inCycle, seen); because != "" || inCycle[part] {
				return part, because
			}
		}
	}
	return i, ""
}
