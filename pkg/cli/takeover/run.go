package takeover

import (
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Run returns the decisions by which the manager takes the place of olm-operator. Each CSV first gets the order
// given-back, so that the manager writes nothing when it starts. Then it gets the order held, a few at a time.
func Run(o Options) NextFunc {
	return func(s *Snapshot, _ time.Time) Decision {
		d := first(
			s.twoPrograms,
			s.orderAll,
			func() Decision { return stopped(s.OLM) },
			func() Decision { return s.startManager(o) },
			func() Decision { return s.adopt(o) },
		)
		return s.counted(orDone(d), func(c CSV) bool { return s.isManaged(c) })
	}
}

func (s *Snapshot) twoPrograms() Decision {
	switch {
	case s.OLM == nil:
		return blocked("no Deployment olm-operator exists: there is no olm-operator whose place the manager can take")
	case s.OLM.Runs() && s.Manager.Runs():
		return blocked("Deployments %s and %s both run, and revert each other's writes: kubectl scale -n %s deployment/%s --replicas=0, then run this command again",
			s.OLM, s.Manager, s.Manager.Namespace, s.Manager.Name)
	default:
		return Decision{}
	}
}

// orderAll gives every CSV the order given-back before the manager starts. With another order, or none, the manager would
// begin with all of them at once.
func (s *Snapshot) orderAll() Decision {
	if s.Manager.Runs() {
		return Decision{}
	}
	return writes(lists.FilterMap(s.CSVs, func(c CSV) (Write, bool) {
		return order(c.NamespacedName, GivenBack), c.Order != GivenBack && !s.keepsOrder(c)
	})...)
}

// keepsOrder reports whether the manager has changed the objects of a CSV, and either they have its own form, or the label
// alone shows the change. Then the label stays.
func (s *Snapshot) keepsOrder(c CSV) bool {
	return !s.OLM.Runs() && c.isChanged() && (c.Order == "" || c.Report.Form == FormGivenBack)
}

func (s *Snapshot) adopt(o Options) Decision {
	adopting := lists.Filter(s.CSVs, func(c CSV) bool { return s.StateOf(c) == Adopting })
	pending := lists.Filter(s.CSVs, func(c CSV) bool { return c.Order == GivenBack || c.Order == GiveBack })
	failing := lists.Filter(adopting, func(c CSV) bool { return c.Phase != succeeded })
	switch {
	case len(pending) > 0 && len(adopting)-len(failing) < o.Concurrency:
		return writes(order(pending[0].NamespacedName, Held))
	case len(adopting) > 0:
		return wait("the manager adopts %s", described(adopting))
	default:
		return Decision{}
	}
}

// isManaged reports whether the manager has adopted a CSV, or installs it.
func (s *Snapshot) isManaged(c CSV) bool {
	state := s.StateOf(c)
	return state == Adopted || state == Converging || state == Converged || state == Installing
}
