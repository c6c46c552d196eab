package takeover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Status is what takeover status prints.
type Status struct {
	OLM     *ProgramStatus `json:"olmOperator,omitempty"`
	Manager *ProgramStatus `json:"manager,omitempty"`
	CSVs    []CSVStatus    `json:"csvs"`
	// Left is what is left to do, with the command.
	Left []string `json:"leftToDo"`
}

// ProgramStatus is the status of olm-operator or of the manager.
type ProgramStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int32  `json:"replicas"`
	Available int32  `json:"available"`
	Version   string `json:"version,omitempty"`
}

// CSVStatus is the status of one CSV.
type CSVStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	Order     Order  `json:"order,omitempty"`
	Phase     string `json:"phase,omitempty"`
	// Deployments are not in the form of the order yet.
	Deployments []string `json:"deploymentsLeft,omitempty"`
	Message     string   `json:"message,omitempty"`
}

// StatusOf returns the status of a takeover.
func StatusOf(s *Snapshot) Status {
	status := Status{OLM: programStatus(s.OLM, s.OLMVersion), Manager: programStatus(s.Manager, ""), Left: s.leftToDo()}
	for _, c := range s.CSVs {
		status.CSVs = append(status.CSVs, CSVStatus{
			Namespace: c.Namespace, Name: c.Name, State: s.StateOf(c), Order: c.Order, Phase: c.Phase, Deployments: c.Report.Left, Message: c.Report.Message,
		})
	}
	return status
}

func programStatus(p *Program, version string) *ProgramStatus {
	if p == nil {
		return nil
	}
	return &ProgramStatus{Namespace: p.Namespace, Name: p.Name, Replicas: p.Replicas, Available: p.Available, Version: version}
}

const (
	continueRun  = "takeover run continues, takeover undo goes back"
	continueUndo = "takeover undo continues"
)

func (s *Snapshot) leftToDo() []string {
	if s.OLM.Runs() {
		return s.leftWithOLM()
	}
	in := func(states ...State) []CSV {
		return lists.Filter(s.CSVs, func(c CSV) bool { return slices.Contains(states, s.StateOf(c)) })
	}
	var left []string
	note := func(all []CSV, what, next string) {
		if len(all) > 0 {
			left = append(left, fmt.Sprintf("%s: %s: %s", what, namesOf(all), next))
		}
	}
	if s.OLM != nil && !s.Manager.IsAvailable() {
		left = append(left, "olm-operator and the manager are not available, so certificates are not renewed: "+continueRun)
	}
	note(in(Unmanaged), "managed by no client", continueRun)
	note(in(Adopting), "being adopted", continueRun)
	note(in(Installing), "not Succeeded, and not part of the takeover", "kubectl webhooks status has the cause")
	note(in(GivingBack, ReadyForOLM), "being given back", continueUndo)
	note(in(Converging), "being converged", "takeover converge continues")
	note(in(Adopted), "in the form of olm-operator until the next rollout", "takeover converge ends that earlier")
	return left
}

func (s *Snapshot) leftWithOLM() []string {
	switch {
	case s.Manager.Runs():
		return []string{fmt.Sprintf("Deployments %s and %s both run, and revert each other's writes: scale one of them to 0", s.OLM, s.Manager)}
	case s.ordered() > 0:
		return []string{fmt.Sprintf("%d of %d ClusterServiceVersions have the label %s: %s", s.ordered(), len(s.CSVs), wellknown.LabelTakeover, continueRun)}
	case len(s.Policies) > 0:
		return []string{fmt.Sprintf("%s of the manager exists: takeover undo deletes it", s.Policies[0])}
	default:
		return nil
	}
}

// Print writes the programs, a table of the CSVs, and what is left to do.
func (s Status) Print(to output.Writer) {
	s.OLM.print(to, "olm-operator")
	s.Manager.print(to, "manager")
	to.Printf("\n")
	to.Table("", []string{"NAMESPACE", "CSV", "STATE", "ORDER", "PHASE", "DEPLOYMENTS LEFT", "MESSAGE"}, lists.Map(s.CSVs, func(c CSVStatus) []string {
		return []string{c.Namespace, c.Name, string(c.State), cmp.Or(string(c.Order), none), cmp.Or(c.Phase, none), cmp.Or(strings.Join(c.Deployments, ","), none), cmp.Or(c.Message, none)}
	}))
	if len(s.Left) > 0 {
		to.Printf("\nLeft to do:\n")
	}
	for _, line := range s.Left {
		to.Printf("- %s\n", line)
	}
}

const none = "<none>"

func (p *ProgramStatus) print(to output.Writer, title string) {
	if p == nil {
		to.Printf("%s: no Deployment\n", title)
		return
	}
	version := ""
	if p.Version != "" {
		version = ", version " + p.Version
	}
	to.Printf("%s: Deployment %s/%s, %d of %d replicas available%s\n", title, p.Namespace, p.Name, p.Available, p.Replicas, version)
}
