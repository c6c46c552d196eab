package takeover

import (
	"cmp"
	"fmt"
	"slices"
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
			func() Decision { return s.startedTooEarly(o) },
			func() Decision { return s.restartsBack(o) },
			func() Decision { return s.giveBack(o) },
			func() Decision { return s.releaseDefinitions(o) },
			func() Decision { return stopped(s.Manager) },
			s.deletePolicies,
			func() Decision { return s.startOLM(o, now) },
			func() Decision { return s.removeOrders(o) },
			s.deleteRollouts,
		)
		return s.counted(orDone(d), func(c CSV) bool {
			if s.OLM.Runs() {
				return !isLabelled(c)
			}
			return s.StateOf(c) == ReadyForOLM || !s.isLeft(c, o)
		})
	}
}

// startedTooEarly blocks undo while olm-operator runs next to what is not given back. The command does not stop it: another
// client started it, and may start it again.
func (s *Snapshot) startedTooEarly(o Options) Decision {
	early := lists.Filter(s.CSVs, func(c CSV) bool { return c.wasChanged() && !o.accepts(c) })
	if s.OLM.Replicas == 0 || len(early) == 0 {
		return Decision{}
	}
	step := stopCommand(s.OLM.Namespace, s.OLM.Name)
	if s.OLM.ScaledBy != "" {
		step = fmt.Sprintf("%s would scale it up again: exclude the Deployment there first, then %s", s.OLM.ScaledBy, step)
	}
	return blocked("Deployment %s runs, and these ClusterServiceVersions are not given back: %s. olm-operator may replace their pods. %s, then run this command again; or %s",
		s.OLM, namesOf(early), step, acceptance(early))
}

// restartsBack blocks undo while a give-back would restart pods.
func (s *Snapshot) restartsBack(o Options) Decision {
	if o.AcceptRestarts || s.OLM.Replicas > 0 {
		return Decision{}
	}
	var all []string
	for _, c := range s.CSVs {
		if !c.isChanged() || o.accepts(c) {
			continue
		}
		for _, d := range c.Deployments {
			if d.Replicas > 0 && len(d.Lacked) > 0 {
				all = append(all, fmt.Sprintf("%s/%s (%s)", c.Namespace, d.Name, strings.Join(d.Lacked, ", ")))
			}
		}
	}
	if len(all) == 0 {
		return Decision{}
	}
	return blocked("undo would restart the pods of these Deployments: %s. olm-operator requires these annotations of the ClusterServiceVersions in their pods. Remove the annotations from the ClusterServiceVersions; or accept the restarts with --accept-restarts",
		strings.Join(all, ", "))
}

// isLeft reports whether the manager still has to give back a CSV. olm-operator does not run.
func (s *Snapshot) isLeft(c CSV, o Options) bool {
	if c.Order == GivenBack {
		return c.isChanged() && !o.accepts(c)
	}
	return s.StateOf(c) != Unmanaged
}

// giveBack decides until the manager writes nothing any more.
func (s *Snapshot) giveBack(o Options) Decision {
	left := lists.Filter(s.CSVs, func(c CSV) bool { return s.isLeft(c, o) })
	if s.OLM.Replicas > 0 || len(left) == 0 {
		return Decision{}
	}
	return first(
		func() Decision { return stopped(s.OLM) },
		s.orderUnmanaged,
		func() Decision { return s.startManager(o) },
		func() Decision { return s.releaseDefinitions(o) },
		func() Decision { return s.orderBack(left, o) },
	)
}

// orderUnmanaged keeps the manager from a CSV that it has never changed: without an order, it would begin when it starts.
func (s *Snapshot) orderUnmanaged() Decision {
	if s.Manager.Runs() {
		return Decision{}
	}
	return writes(lists.FilterMap(s.CSVs, func(c CSV) (Write, bool) {
		return order(c.NamespacedName, GivenBack), c.Order == "" && s.StateOf(c) == Unmanaged
	})...)
}

// orderBack ends the manager's work on the CSVs that have the form of olm-operator, and begins with others. It ends the work
// on accepted CSVs last.
func (s *Snapshot) orderBack(left []CSV, o Options) Decision {
	ready := lists.Filter(left, func(c CSV) bool { return s.StateOf(c) == ReadyForOLM })
	giving := lists.Filter(left, func(c CSV) bool { return s.StateOf(c) == GivingBack && !o.mayEnd(c) })
	pending := lists.Filter(left, func(c CSV) bool { return c.Order != GiveBack && (!c.awaitsReport() || o.accepts(c)) })
	unreported := lists.Filter(left, func(c CSV) bool { return c.awaitsReport() && !o.accepts(c) })
	switch {
	case len(ready) > 0:
		return writes(order(ready[0].NamespacedName, GivenBack))
	case len(pending) > 0 && len(giving) < o.Concurrency:
		return writes(order(pending[0].NamespacedName, GiveBack))
	case len(giving) > 0:
		return wait("the manager gives back %s%s", strings.Join(lists.Map(giving, explained), ", and "), o.remedy(giving))
	case len(unreported) > 0:
		return wait("the manager has not reported %s since it was given back before%s", namesOf(unreported), o.remedy(unreported))
	default:
		return writes(order(left[0].NamespacedName, GivenBack))
	}
}

// explained returns a CSV with what the manager reports of it.
func explained(c CSV) string {
	text := described([]CSV{c})
	if c.Phase != succeeded {
		text += fmt.Sprintf(", which is %s: %s", c.Phase, c.Cause)
	}
	return text
}

// releaseDefinitions waits for the manager, which releases what is held. Without the manager it stays held.
func (s *Snapshot) releaseDefinitions(o Options) Decision {
	held := lists.Filter(s.HeldDefinitions, func(d HeldDefinition) bool { return !d.onlyFor(o.Accepted) })
	if len(held) == 0 || !s.Manager.Runs() {
		return Decision{}
	}
	converting := lists.Filter(s.CSVs, func(c CSV) bool {
		return slices.ContainsFunc(held, func(d HeldDefinition) bool { return slices.Contains(d.CSVs, c.NamespacedName) })
	})
	return wait("versions or the conversion of CustomResourceDefinitions %s are held until a webhook of %s converts%s",
		strings.Join(lists.Map(held, func(d HeldDefinition) string { return d.Name }), ", "), cmp.Or(namesOf(converting), "a new operator"), o.remedy(converting))
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

// removeOrders removes the label of a CSV when olm-operator, or the administrator, has accepted it.
func (s *Snapshot) removeOrders(o Options) Decision {
	left := lists.Filter(s.CSVs, isLabelled)
	ended := lists.Filter(left, func(c CSV) bool { return c.Phase == succeeded || o.accepts(c) })
	if len(ended) > 0 {
		return writes(lists.Map(ended, func(c CSV) Write { return order(c.NamespacedName, "") })...)
	}
	if len(left) > 0 {
		return wait("%s is %s with olm-operator: %s%s", left[0], left[0].Phase, left[0].Cause, o.remedy(left[:1]))
	}
	return Decision{}
}

func (s *Snapshot) deleteRollouts() Decision {
	return writes(lists.FilterMap(s.CSVs, func(c CSV) (Write, bool) {
		return deletion(Object{KindRollout, c.Namespace, c.Name}), c.HasRollout
	})...)
}
