package campaign

import (
	"slices"
	"time"
)

// Shrink removes from a failing scenario what it does not need to fail, as far as a number of tries allows. happened are the requests that
// failed in it: they take the place of the random ones, and are removed one by one.
func Shrink(s Scenario, happened []Failure, tries int, fails func(Scenario) bool) Scenario {
	try := func(simpler Scenario) bool {
		if tries <= 0 {
			return false
		}
		tries--
		return fails(simpler)
	}
	fixed := s
	fixed.FailOneIn, fixed.Failures = 0, slices.Concat(s.Failures, happened)
	if s.FailOneIn > 0 && try(fixed) {
		s = fixed
	}
	for {
		i := slices.IndexFunc(simpler(s), try)
		if i < 0 {
			return s
		}
		s = simpler(s)[i]
	}
}

// simpler returns the scenarios that lack one thing, or are simpler in one, the largest difference first.
func simpler(s Scenario) (all []Scenario) {
	add := func(change func(*Scenario)) {
		c := s.clone()
		change(&c)
		all = append(all, c)
	}
	if s.FailOneIn > 0 {
		add(func(c *Scenario) { c.FailOneIn = 0 })
	}
	for size := (len(s.Failures) + 1) / 2; size > 0; size /= 2 { // parts, and at last each alone
		for i := 0; i < len(s.Failures); i += size {
			add(func(c *Scenario) { c.Failures = slices.Delete(c.Failures, i, min(i+size, len(c.Failures))) })
		}
	}
	for i := range s.Crashes {
		add(func(c *Scenario) { c.Crashes = slices.Delete(c.Crashes, i, i+1) })
	}
	for i := 1; i < len(s.Late); i++ {
		add(func(c *Scenario) { c.Late = slices.Delete(c.Late, i, i+1) })
	}
	if len(s.Operators) > 1 {
		for i := range s.Operators {
			add(func(c *Scenario) { c.Operators = slices.Delete(c.Operators, i, i+1) })
		}
	}
	for i := range s.Operators {
		all = append(all, simplerOperators(s, i)...)
	}
	return all
}

// simplerOperators returns the scenarios in which one operator is simpler.
func simplerOperators(s Scenario, operator int) (all []Scenario) {
	add := func(change func(*Operator)) {
		c := s.clone()
		change(&c.Operators[operator])
		all = append(all, c)
	}
	o := s.Operators[operator]
	for i := range o.Steps {
		add(func(o *Operator) { o.Steps = slices.Delete(o.Steps, i, i+1) })
	}
	for i, step := range o.Steps {
		if step.After >= time.Second {
			add(func(o *Operator) { o.Steps[i].After = step.After / 4 })
		}
		if !step.Await {
			add(func(o *Operator) { o.Steps[i].Await = true })
		}
	}
	if o.Replicas > 1 {
		add(func(o *Operator) { o.Replicas = 1 })
	}
	if o.Mutating {
		add(func(o *Operator) { o.Mutating = false })
	}
	if o.Labelled {
		add(func(o *Operator) { o.Labelled = false })
	}
	if o.Occupied {
		add(func(o *Operator) { o.Occupied = false })
	}
	if o.OwnNamespace {
		add(func(o *Operator) { o.OwnNamespace = false })
	}
	return all
}

func (s Scenario) clone() Scenario {
	s.Late, s.Failures, s.Crashes, s.Operators = slices.Clone(s.Late), slices.Clone(s.Failures), slices.Clone(s.Crashes), slices.Clone(s.Operators)
	for i := range s.Operators {
		s.Operators[i].Steps = slices.Clone(s.Operators[i].Steps)
	}
	return s
}
