package takeover

import (
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Undo returns the decisions by which olm-operator gets its place back. It also ends a run that was interrupted before
// olm-operator stopped.
func Undo(o Options) NextFunc {
	return func(s *Snapshot, now time.Time) Decision {
		if s.OLM == nil {
			return blocked("no Deployment olm-operator exists: install OLM with 0 replicas of olm-operator, then run this command again")
		}
		d := first(
			s.correctOrders,
			func() Decision { return s.giveBack(o) },
			s.releaseDefinitions,
			func() Decision { return stopped(s.Manager) },
			s.deletePolicies,
			func() Decision { return s.startOLM(o, now) },
			s.removeOrders,
			s.deleteRollouts,
		)
		return s.counted(orDone(d), func(c CSV) bool {
			return s.StateOf(c) == ReadyForOLM || s.StateOf(c) == Unmanaged || !isOrdered(c) && s.OLM.Runs()
		})
	}
}

// correctOrders changes the order given-back of a CSV that is not given back, before the manager starts and reports that
// it is.
func (s *Snapshot) correctOrders() Decision {
	return writes(lists.FilterMap(s.CSVs, func(c CSV) (Write, bool) {
		return order(c.NamespacedName, GiveBack), c.Order == GivenBack && s.isChanged(c)
	})...)
}

// giveBack decides until the manager writes nothing any more. olm-operator does not run meanwhile.
func (s *Snapshot) giveBack(o Options) Decision {
	left := lists.Filter(s.CSVs, func(c CSV) bool { return c.Order != GivenBack && s.StateOf(c) != Unmanaged })
	if s.OLM.Replicas > 0 || len(left) == 0 {
		return Decision{}
	}
	return first(
		func() Decision { return stopped(s.OLM) },
		func() Decision { return s.startManager(o) },
		s.releaseDefinitions,
		func() Decision { return s.orderBack(left, o) },
	)
}

// orderBack ends the manager's work on the CSVs that have the form of olm-operator, and begins with others.
func (s *Snapshot) orderBack(left []CSV, o Options) Decision {
	ready := lists.Filter(left, func(c CSV) bool { return s.StateOf(c) == ReadyForOLM })
	giving := lists.Filter(left, func(c CSV) bool { return s.StateOf(c) == GivingBack })
	pending := lists.Filter(left, func(c CSV) bool { return c.Order != GiveBack })
	switch {
	case len(ready) > 0:
		return writes(order(ready[0].NamespacedName, GivenBack))
	case len(pending) > 0 && len(giving) < o.Concurrency:
		return writes(order(pending[0].NamespacedName, GiveBack))
	default:
		return wait("the manager gives back %s", described(giving))
	}
}

// releaseDefinitions waits for the manager, which releases what is held. Without the manager it stays held.
func (s *Snapshot) releaseDefinitions() Decision {
	if len(s.HeldDefinitions) == 0 || !s.Manager.Runs() {
		return Decision{}
	}
	return wait("versions or the conversion of CustomResourceDefinitions %s are held until a webhook converts", strings.Join(s.HeldDefinitions, ", "))
}

func (s *Snapshot) deletePolicies() Decision {
	return writes(lists.Map(s.Policies, deletion)...)
}

func (s *Snapshot) startOLM(o Options, now time.Time) Decision {
	switch p := s.OLM; {
	case p.Replicas == 0:
		return writes(scale(p, o.OLMReplicas))
	case !p.IsAvailable():
		return wait("Deployment %s has %d of %d replicas available", p, p.Available, p.Replicas)
	case s.ordered() > 0 && now.Sub(p.AvailableSince) < o.Settle:
		return wait("Deployment %s reconciles for %s", p, o.Settle)
	default:
		return Decision{}
	}
}

const succeeded = "Succeeded"

// removeOrders removes the label of a CSV when olm-operator has accepted it.
func (s *Snapshot) removeOrders() Decision {
	left := lists.Filter(s.CSVs, isOrdered)
	accepted := lists.Filter(left, func(c CSV) bool { return c.Phase == succeeded })
	if len(accepted) > 0 {
		return writes(lists.Map(accepted, func(c CSV) Write { return order(c.NamespacedName, "") })...)
	}
	if len(left) > 0 {
		return wait("%s is %s with olm-operator: %s", left[0], left[0].Phase, left[0].Cause)
	}
	return Decision{}
}

func (s *Snapshot) deleteRollouts() Decision {
	return writes(lists.FilterMap(s.CSVs, func(c CSV) (Write, bool) {
		return deletion(Object{KindRollout, c.Namespace, c.Name}), c.HasRollout
	})...)
}
