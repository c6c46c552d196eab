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
	// waits has, for each part of the target, what it waits for, and the changes after which it does not.
	waits [][]waiting
	tries int
	found [][]Change
}

// waiting is a need that only other parts of the target meet, and the changes of all that cover it.
type waiting struct {
	of    []int
	cover []bool
}

func (c changer) solve(target, down []int) Solution {
	s := &search{view: c.view, registered: c.found, target: target, down: down}
	for i := range c.parts {
		if blocked := s.blocked(i); len(blocked) > 0 {
			s.all = append(s.all, c.changesOf(i, blocked)...)
		}
	}
	s.waits = s.waitsAfter(s.all)
	if !s.enough(s.all) {
		return Solution{}
	}
	for size := 1; size <= len(s.all) && len(s.found) == 0 && s.tries < maxTries; size++ {
		s.try(make([]bool, len(s.all)), 0, size)
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
func (s *search) try(chosen []bool, from, more int) {
	if more == 0 {
		s.tries++
		if s.returns(s.waits, chosen) {
			s.found = append(s.found, s.these(chosen))
		}
		return
	}
	for i := from; i <= len(s.all)-more && s.tries < maxTries && len(s.found) < maxFound; i++ {
		chosen[i] = true
		s.try(chosen, i+1, more-1)
		chosen[i] = false
	}
}

func (s *search) these(chosen []bool) []Change {
	var all []Change
	for i, c := range s.all {
		if chosen[i] {
			all = append(all, c)
		}
	}
	return all
}

// irreducible leaves out what is not needed, the changes that let most requests pass first.
func (s *search) irreducible() []Change {
	left := slices.Clone(s.all)
	slices.SortStableFunc(left, func(a, b Change) int { return b.weight() - a.weight() })
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
	every := make([]bool, len(changes))
	for i := range every {
		every[i] = true
	}
	return s.returns(s.waitsAfter(changes), every)
}

// waitsAfter returns for what the parts of the target wait, with the changes that end it.
func (s *search) waitsAfter(changes []Change) [][]waiting {
	position := map[int]int{}
	for at, i := range slices.Concat(s.target, s.down) {
		position[i] = at
	}
	return lists.Map(s.target, func(i int) []waiting {
		var all []waiting
		for _, n := range s.missing(i) {
			of := lists.FilterMap(n.any, func(j int) (int, bool) { at, inside := position[j]; return at, inside })
			if len(of) == 0 || len(of) < len(n.any) {
				continue // Something else meets it.
			}
			all = append(all, waiting{of, lists.Map(changes, func(c Change) bool {
				return n.request != nil && c.Webhook == s.parts[n.any[0]].Part && c.covers(*n.request)
			})})
		}
		return all
	})
}

// returns reports whether the target returns after the chosen changes.
func (s *search) returns(waits [][]waiting, chosen []bool) bool {
	returned := make([]bool, len(s.target)+len(s.down))
	count := 0
	for changed := true; changed; {
		changed = false
		for i, all := range waits {
			if !returned[i] && !slices.ContainsFunc(all, func(w waiting) bool { return w.open(returned, chosen) }) {
				returned[i], changed = true, true
				count++
			}
		}
	}
	return count == len(s.target)
}

func (w waiting) open(returned, chosen []bool) bool {
	for i, covers := range w.cover {
		if covers && chosen[i] {
			return false
		}
	}
	return !slices.ContainsFunc(w.of, func(i int) bool { return returned[i] })
}

func (s *search) solution(smallest bool) Solution {
	described := lists.Map(s.found, s.describe)
	slices.SortStableFunc(described, compare)
	return Solution{Changes: described[0], Smallest: smallest, Alternatives: described[1:min(len(described), 1+maxAlternatives)]}
}

// describe leaves out Namespaces and labels that need not be left out, and fills in the texts.
func (s *search) describe(changes []Change) []Change {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].namespaces = s.needed(changes, &changes[i].namespaces)
		changes[i].values = s.needed(changes, &changes[i].values)
	}
	return lists.Map(changes, func(c Change) Change { return s.registered[c.Webhook].described(c) })
}

// needed returns the values of a list, which is part of one of the changes, without which the changes are not enough.
func (s *search) needed(changes []Change, list *[]string) []string {
	for _, value := range *list {
		all := *list
		*list = slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == value })
		if !s.enough(changes) {
			*list = all
		}
	}
	return *list
}
