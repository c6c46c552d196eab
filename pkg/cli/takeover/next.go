package takeover

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Options are the flags of the commands that change a cluster.
type Options struct {
	// Concurrency is how many CSVs are adopted, or given back, at the same time.
	Concurrency int
	// ManagerReplicas and OLMReplicas are the replicas with which the programs start.
	ManagerReplicas, OLMReplicas int32
	// Settle is how long olm-operator must be available before CSVs are compared with its result.
	Settle time.Duration
	// Window is when converge may change a CSV; nil for always.
	Window *Window
	// Names are the CSVs that converge changes; none for all.
	Names []types.NamespacedName
	// AcceptRestarts lets undo restart pods for annotations of CSVs.
	AcceptRestarts bool
	// Accepted are the CSVs for which undo does not wait.
	Accepted []types.NamespacedName
}

// Decision is what a command does next. Exactly one of Writes, Wait, Blocked and Done is set.
type Decision struct {
	// Writes are done in their order.
	Writes []Write
	// Wait is what must become true before the next decision.
	Wait string
	// Patient is set if Wait may take longer than any other condition.
	Patient bool
	// Blocked is why the command cannot continue, with the next step.
	Blocked string
	Done    bool
	// Finished and All count CSVs.
	Finished, All int
}

// NextFunc decides what a command does next. The same decision follows from the same snapshot.
type NextFunc func(s *Snapshot, now time.Time) Decision

func writes(all ...Write) Decision { return Decision{Writes: all} }

func wait(format string, args ...any) Decision { return Decision{Wait: fmt.Sprintf(format, args...)} }

func blocked(format string, args ...any) Decision {
	return Decision{Blocked: fmt.Sprintf(format, args...)}
}

// first returns the first decision that is not the zero value.
func first(decisions ...func() Decision) Decision {
	for _, decide := range decisions {
		if d := decide(); len(d.Writes) > 0 || d.Wait != "" || d.Blocked != "" {
			return d
		}
	}
	return Decision{}
}

// orDone returns a decision of all steps of a command. The command is done if none of them has to do anything.
func orDone(d Decision) Decision {
	d.Done = len(d.Writes) == 0 && d.Wait == "" && d.Blocked == ""
	return d
}

// startManager decides until the manager is available.
func (s *Snapshot) startManager(o Options) Decision {
	switch m := s.Manager; {
	case m == nil:
		return blocked("the Deployment of the manager does not exist: install manifests/with-olm, or name the Deployment with -n and --deployment")
	case m.Replicas == 0:
		return writes(scale(m, o.ManagerReplicas))
	case !m.IsAvailable():
		return wait("Deployment %s has %d of %d replicas available", m, m.Available, m.Replicas)
	default:
		return Decision{}
	}
}

// stopped decides until a program has no pods.
func stopped(p *Program) Decision {
	switch {
	case p == nil || !p.Runs():
		return Decision{}
	case p.Replicas > 0:
		return writes(scale(p, 0))
	default:
		return wait("the pods of Deployment %s end: %s", p, strings.Join(p.Pods, ", "))
	}
}

// counted adds the number of CSVs in one of some states.
func (s *Snapshot) counted(d Decision, finished func(CSV) bool) Decision {
	d.Finished, d.All = len(lists.Filter(s.CSVs, finished)), len(s.CSVs)
	return d
}

func namesOf(all []CSV) string {
	return strings.Join(lists.Map(all, func(c CSV) string { return c.String() }), ", ")
}
