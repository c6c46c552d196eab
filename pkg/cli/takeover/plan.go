package takeover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Plan is what takeover plan prints: what takeover run would do.
type Plan struct {
	Blockers []Blocker `json:"blockers"`
	CSVs     []CSVPlan `json:"csvs"`
	// Writes are the requests of the command. The manager's own writes are in CSVs.
	Writes []Write `json:"writes"`
	// NotChecked is what the user may not read, and what is not known because of that.
	NotChecked []string `json:"notChecked"`
	// EstimateSeconds is how long takeover run takes, in seconds.
	EstimateSeconds int64 `json:"estimateSeconds"`
}

// CSVPlan is what takeover run does to the objects of one CSV.
type CSVPlan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Adopted are the objects that keep their names, uids and pods.
	Adopted []Object `json:"adopted"`
	Changes []Change `json:"changes"`
}

// PlanOf returns the plan of takeover run.
func PlanOf(s *Snapshot, o Options, acceptEdits bool, pace time.Duration, notChecked []string) Plan {
	p := Plan{Blockers: s.Blockers(acceptEdits), NotChecked: notChecked, Writes: Predict(s, Run(o))}
	for _, c := range s.CSVs {
		p.CSVs = append(p.CSVs, CSVPlan{Namespace: c.Namespace, Name: c.Name, State: s.StateOf(c), Adopted: c.Objects, Changes: c.changes()})
	}
	p.EstimateSeconds = int64(estimate(p.Writes, o, pace).Seconds())
	return p
}

// changes returns what changes in the adopted objects of a CSV.
func (c CSV) changes() []Change {
	all := slices.Clone(c.Changes)
	for _, r := range c.Reverted {
		all = append(all, Change{r.Object, whatReverted + strings.Join(r.Fields, ", "), DuringRun, false})
	}
	for _, d := range c.Deployments {
		object := Object{KindDeployment, c.Namespace, d.Name}
		if d.OtherForm || len(d.EditedBy)+len(d.Reverted) > 0 {
			all = append(all, Change{object, whatOtherForm, DuringRun, true})
		} else {
			all = append(all, Change{object, whatTemplate, AtNextRollout, true})
		}
	}
	return all
}

// The times of an estimate. They are typical times of a small cluster.
const (
	timeOfWrite   = 100 * time.Millisecond
	timeOfProgram = 30 * time.Second
	timeOfCSV     = 5 * time.Second
)

// estimate returns the typical duration of the writes and of what the command waits for after them.
func estimate(all []Write, o Options, pace time.Duration) time.Duration {
	total := time.Duration(len(all)) * timeOfWrite
	adopted := 0
	for _, w := range all {
		switch {
		case w.Verb == Scale:
			total += timeOfProgram
		case w.Verb == SetOrder && w.Value == string(Held):
			adopted++
		}
	}
	return total + time.Duration(adopted)*max(pace, timeOfCSV/time.Duration(max(o.Concurrency, 1)))
}

// Print writes the plan for people.
func (p Plan) Print(to output.Writer) {
	for _, c := range p.CSVs {
		to.Printf("%s/%s (%s)\n", c.Namespace, c.Name, c.State)
		to.Printf("  adopted as they are: %s\n", strings.Join(lists.Map(c.Adopted, Object.String), ", "))
		for _, change := range c.Changes {
			to.Printf("  %s: %s: %s; %s\n", change.When, change.Object, change.What, restarts(change.RestartsPods))
		}
	}
	to.Printf("\nWrites of takeover run:\n")
	for _, w := range p.Writes {
		to.Printf("- %s\n", w)
	}
	to.Printf("\nPods that restart during the run: %s. Estimated time: %s\n", p.restarted(), time.Duration(p.EstimateSeconds)*time.Second)
	for _, line := range p.NotChecked {
		to.Printf("Not checked: %s\n", line)
	}
	PrintBlockers(to, p.Blockers)
}

// restarted returns the objects whose pods restart during the run, or "none".
func (p Plan) restarted() string {
	var all []string
	for _, c := range p.CSVs {
		for _, change := range c.Changes {
			if change.When == DuringRun && change.RestartsPods {
				all = append(all, change.Object.String())
			}
		}
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// PrintBlockers writes the blockers, or that there is none.
func PrintBlockers(to output.Writer, all []Blocker) {
	if len(all) == 0 {
		to.Printf("\nNothing blocks the takeover.\n")
		return
	}
	to.Printf("\nBlocked:\n")
	for _, b := range all {
		to.Printf("- %s\n", b)
	}
}

func restarts(pods bool) string {
	if pods {
		return "pods restart"
	}
	return "no pod restarts"
}

// Title returns the plan in one line.
func (p Plan) Title() string {
	return fmt.Sprintf("%s, %s", output.Counted(len(p.CSVs), KindCSV), output.Counted(len(p.Writes), "write"))
}
