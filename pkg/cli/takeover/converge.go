package takeover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// NextConverge returns the decisions by which adopted CSVs get the manager's own form, one after another.
func NextConverge(o Options) NextFunc {
	return func(s *Snapshot, now time.Time) Decision {
		selected := s.selected(o)
		d := first(
			s.mayConverge,
			func() Decision { return s.Unknown(o.Names) },
			func() Decision { return s.unreadBudgets(selected) },
			func() Decision { return s.endConverged(selected) },
			func() Decision { return s.convergeNext(selected, o, now) },
		)
		d = orDone(d)
		d.Finished, d.All = len(lists.Filter(selected, func(c CSV) bool { return !isOrdered(c) })), len(selected)
		return d
	}
}

func (s *Snapshot) selected(o Options) []CSV {
	return lists.Filter(s.CSVs, func(c CSV) bool { return len(o.Names) == 0 || slices.Contains(o.Names, c.NamespacedName) })
}

func (s *Snapshot) mayConverge() Decision {
	switch {
	case s.OLM.Runs():
		return blocked("Deployment %s runs: the manager has not taken its place. Run takeover run first", s.OLM)
	case !s.Manager.Runs():
		return blocked("the manager does not run: run takeover run first")
	case !s.Manager.IsAvailable():
		return wait("Deployment %s has %d of %d replicas available", s.Manager, s.Manager.Available, s.Manager.Replicas)
	default:
		return Decision{}
	}
}

// Unknown blocks a command that names CSVs that do not exist. A CSV may be deleted while undo runs, so undo checks this once.
func (s *Snapshot) Unknown(all []types.NamespacedName) Decision {
	for _, name := range all {
		if s.find(name) == nil {
			return blocked("ClusterServiceVersion %s does not exist: list them with takeover status", name)
		}
	}
	return Decision{}
}

// unreadBudgets blocks converge if it does not know whether pods may be replaced.
func (s *Snapshot) unreadBudgets(selected []CSV) Decision {
	unread := lists.Filter(selected, func(c CSV) bool { return c.BudgetsUnread && s.StateOf(c) == Adopted && len(c.Deployments) > 0 })
	if len(unread) == 0 {
		return Decision{}
	}
	return blocked("you may not list poddisruptionbudgets in namespace %s, so %s is not restarted: grant the permission list, then run this command again", unread[0].Namespace, unread[0])
}

// endConverged removes the order of the CSVs that have the manager's own form.
func (s *Snapshot) endConverged(selected []CSV) Decision {
	return writes(lists.FilterMap(selected, func(c CSV) (Write, bool) {
		return order(c.NamespacedName, ""), isOrdered(c) && s.StateOf(c) == Converged
	})...)
}

func (s *Snapshot) convergeNext(selected []CSV, o Options, now time.Time) Decision {
	for _, c := range selected {
		switch s.StateOf(c) {
		case Converging:
			return wait("the manager converges %s", described([]CSV{c}))
		case Adopting:
			return wait("the manager adopts %s", described([]CSV{c}))
		case GivingBack, ReadyForOLM, Unmanaged:
			return blocked("ClusterServiceVersion %s is %s: end takeover undo, or run takeover run, first", c, s.StateOf(c))
		case WithOLM, Adopted, Converged, Installing:
		}
	}
	for _, c := range selected {
		if s.StateOf(c) != Adopted {
			continue
		}
		if o.Window != nil && !o.Window.Contains(now) {
			d := wait("the maintenance window %s opens at %s", o.Window, o.Window.Opens(now).Format(time.RFC3339))
			d.Patient = true
			return d
		}
		if cause := c.unready(); cause != "" {
			return wait("%s cannot be restarted now: %s", c, cause)
		}
		return writes(order(c.NamespacedName, Converge))
	}
	return Decision{}
}

// unready returns why the pods of a CSV cannot be replaced now; empty if they can.
func (c CSV) unready() string {
	for _, d := range c.Deployments {
		if d.Available < d.Replicas {
			return fmt.Sprintf("Deployment %s has %d of %d replicas available", d.Name, d.Available, d.Replicas)
		}
		if d.Replicas > 0 && len(d.Budgets) > 0 {
			return fmt.Sprintf("PodDisruptionBudget %s allows no disruption of Deployment %s", strings.Join(d.Budgets, ", "), d.Name)
		}
	}
	return ""
}

// SingleReplicas returns the Deployments with one replica of the CSVs that converge changes, as namespace/name.
func SingleReplicas(s *Snapshot, o Options) []string {
	var all []string
	for _, c := range s.selected(o) {
		if s.StateOf(c) != Adopted && s.StateOf(c) != Converging {
			continue
		}
		for _, d := range c.Deployments {
			if d.Replicas == 1 {
				all = append(all, c.Namespace+"/"+d.Name)
			}
		}
	}
	return all
}

// described lists CSVs with what the manager reports of them.
func described(all []CSV) string {
	text := namesOf(all)
	if len(all) != 1 {
		return text
	}
	if r := all[0].Report; len(r.Left) > 0 || r.Message != "" {
		text += strings.TrimRight(fmt.Sprintf(" (Deployments left: %s) %s", strings.Join(r.Left, ", "), r.Message), " ")
	}
	return text
}
