package drill

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Solution is a set of changes after which the parts of a cycle, or the parts that wait for a dead end, return.
type Solution struct {
	Changes []Change `json:"changes"`
	// Smallest reports that no set with fewer changes is enough. For many webhooks only a set is searched from which no
	// change can be left out.
	Smallest bool `json:"smallest"`
	// Alternatives are other sets of as many changes. The first ones leave out the fewest requests.
	Alternatives [][]Change `json:"alternatives"`
}

const (
	// maxTries is how many sets of changes are tried.
	maxTries = 50000
	// maxFound is how many sets of the same size are compared.
	maxFound = 200
	// maxAlternatives is how many alternatives a solution has.
	maxAlternatives = 5
)

// search is the search of the smallest set of changes.
type search struct {
	view

	registered map[Part]registered
	target     []int
	down       []int // they do not return
	all        []Change
	tries      int
	found      [][]Change
}

func (c changer) solve(target, down []int) Solution {
	s := &search{view: c.view, registered: c.found, target: target, down: down}
	for i := range c.parts {
		if blocked := s.blocked(i); len(blocked) > 0 {
			s.all = append(s.all, c.changesOf(i, blocked)...)
		}
	}
	if !s.enough(s.all) {
		return Solution{}
	}
	for size := 1; size <= len(s.all) && len(s.found) == 0 && s.tries < maxTries; size++ {
		s.try(nil, 0, size)
	}
	smallest := len(s.found) > 0
	if !smallest {
		s.found = [][]Change{s.irreducible()}
	}
	return s.solution(smallest)
}

// blocked are the requests of the target that wait for a webhook.
func (s *search) blocked(webhook int) []request {
	if !slices.Contains(s.target, webhook) && !slices.Contains(s.down, webhook) {
		return nil
	}
	var all []request
	for _, i := range s.target {
		for _, n := range s.missing(i) {
			if n.request != nil && slices.Contains(n.any, webhook) {
				all = append(all, *n.request)
			}
		}
	}
	return all
}

// try tries all sets with a number of further changes, from an index on.
func (s *search) try(chosen []Change, from, more int) {
	if more == 0 {
		s.tries++
		if s.enough(chosen) {
			s.found = append(s.found, slices.Clone(chosen))
		}
		return
	}
	for i := from; i <= len(s.all)-more && s.tries < maxTries && len(s.found) < maxFound; i++ {
		s.try(append(chosen, s.all[i]), i+1, more-1)
	}
}

// irreducible leaves out what is not needed, the changes that let most requests pass first.
func (s *search) irreducible() []Change {
	left := slices.Clone(s.all)
	slices.SortStableFunc(left, func(a, b Change) int { return b.weight - a.weight })
	for i := 0; i < len(left); {
		without := slices.Delete(slices.Clone(left), i, i+1)
		if s.enough(without) {
			left = without
		} else {
			i++
		}
	}
	return left
}

// enough reports whether the target returns after some changes, if everything else does.
func (s *search) enough(changes []Change) bool {
	waits := map[int]bool{}
	mark(waits, s.target)
	mark(waits, s.down)
	covered := func(n need) bool {
		return n.request != nil && slices.ContainsFunc(changes, func(c Change) bool {
			return slices.ContainsFunc(n.any, func(i int) bool { return s.parts[i].Part == c.Webhook }) && c.covers(*n.request)
		})
	}
	met := func(n need) bool {
		return len(n.any) == 0 || slices.ContainsFunc(n.any, func(i int) bool { return !waits[i] })
	}
	for changed := true; changed; {
		changed = false
		for _, i := range s.target {
			open := func(n need) bool { return s.counts(n) && !met(n) && !covered(n) }
			if waits[i] && !slices.ContainsFunc(s.parts[i].needs, open) {
				delete(waits, i)
				changed = true
			}
		}
	}
	return len(waits) == len(s.down)
}

func (s *search) solution(smallest bool) Solution {
	described := lists.Map(s.found, s.describe)
	slices.SortStableFunc(described, compare)
	return Solution{Changes: described[0], Smallest: smallest, Alternatives: described[1:min(len(described), 1+maxAlternatives)]}
}

// describe leaves out Namespaces that need not be left out, and fills in the texts.
func (s *search) describe(changes []Change) []Change {
	changes = slices.Clone(changes)
	for i := range changes {
		for _, namespace := range changes[i].namespaces {
			all := changes[i].namespaces
			changes[i].namespaces = slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == namespace })
			changes[i].weight--
			if !s.enough(changes) {
				changes[i].namespaces = all
				changes[i].weight++
			}
		}
	}
	return lists.Map(changes, func(c Change) Change { return s.registered[c.Webhook].described(c) })
}
