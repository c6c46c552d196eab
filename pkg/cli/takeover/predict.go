package takeover

import (
	"slices"
	"strconv"
	"time"
)

// longest ends a prediction that does not end by itself. It is more decisions than a command takes.
const longest = 100_000

// Predict returns the writes of a command if nothing else changes the cluster and everything that it waits for becomes
// true. It does not change the snapshot.
func Predict(s *Snapshot, next NextFunc) []Write {
	copied := *s
	copied.OLM, copied.Manager, copied.CSVs = cloned(s.OLM), cloned(s.Manager), slices.Clone(s.CSVs)
	var all []Write
	for range longest {
		d := next(&copied, time.Time{})
		if d.Done || d.Blocked != "" {
			break
		}
		for _, w := range d.Writes {
			copied.Apply(w)
		}
		all = append(all, d.Writes...)
		copied.settle()
	}
	return all
}

func cloned(p *Program) *Program {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// Apply changes the snapshot as a write changes the cluster.
func (s *Snapshot) Apply(w Write) {
	switch w.Verb {
	case SetOrder:
		if c := s.csv(w.Object); c != nil {
			c.Order, c.UnknownLabel = Order(w.Value), false
		}
	case Scale:
		for _, p := range []*Program{s.OLM, s.Manager} {
			if p != nil && p.Namespace == w.Object.Namespace && p.Name == w.Object.Name {
				n, _ := strconv.ParseInt(w.Value, 10, 32)
				p.Replicas = int32(n)
			}
		}
	case Delete:
		s.Policies = slices.DeleteFunc(slices.Clone(s.Policies), func(o Object) bool { return o == w.Object })
		if c := s.csv(w.Object); c != nil && w.Object.Kind == KindRollout {
			c.HasRollout, c.Report = false, Report{}
		}
	}
}

func (s *Snapshot) csv(o Object) *CSV {
	i := slices.IndexFunc(s.CSVs, func(c CSV) bool { return c.Namespace == o.Namespace && c.Name == o.Name })
	if i < 0 {
		return nil
	}
	return &s.CSVs[i]
}

// settle changes the snapshot as the programs of the cluster do, until there is nothing to wait for.
func (s *Snapshot) settle() {
	for _, p := range []*Program{s.OLM, s.Manager} {
		if p != nil {
			p.Available, p.AvailableSince = p.Replicas, time.Time{}.Add(-time.Hour)
			p.Pods = nil
		}
	}
	s.HeldDefinitions = nil
	for i := range s.CSVs {
		s.CSVs[i].settle(s.Manager.Runs())
	}
}

func (c *CSV) settle(managed bool) {
	c.Phase = succeeded
	for i := range c.Deployments {
		c.Deployments = slices.Clone(c.Deployments)
		c.Deployments[i].Available, c.Deployments[i].Budgets = c.Deployments[i].Replicas, nil
	}
	if !managed || c.Order == GivenBack {
		return
	}
	c.HasRollout = true
	switch c.Order {
	case Held:
		if c.Report.Form != FormConverged {
			c.Report = Report{Form: FormAdopted}
		}
	case Converge:
		c.Report = Report{Form: FormConverged}
	case GiveBack:
		c.Report, c.InManagersForm = Report{Form: FormGivenBack}, false
	default:
		c.Report = Report{}
	}
}
