// Package doctor has the command that reports webhooks that block the cluster, or could.
package doctor

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// The exit codes of doctor, for scripts.
const (
	exitUnknown = 1 // The state of a webhook is unknown, and no request is known to be refused.
	exitLocked  = 2 // Requests are refused now, all or some of them.
)

// PrintPage prints the page of the command ui with the examined facts.
type PrintPage func(cmd *cobra.Command, c *cluster.Cluster, examined doctor.Facts, direct bool, now time.Time) error

// NewCommand returns the command doctor. It has the output format html if printPage is not nil.
func NewCommand(printPage PrintPage) *cobra.Command {
	connection, output, direct := flags.NewCluster().WithoutNamespace(), flags.Output{}, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Report whether webhooks block the cluster now, or could block it",
		Long: `Checks every webhook and every aggregated APIService of the cluster, also webhooks that this manager does not manage:
whether the Service exists and has a ready endpoint, whether the registration trusts the serving certificate, whether
lost pods can be recreated, and whether the control plane depends on the webhook.

The command writes nothing. It reads certificates through port-forwards, which need the permission to create
pods/portforward.

With --output=html, kubectl webhooks doctor writes the page of the command ui as one file, which needs no other file
and no network.

Exit codes: 2 there is a finding of level ERROR: requests are refused now, all or some of them; 1 there is a finding of
level UNKNOWN and none of level ERROR, or the cluster could not be read; 0 otherwise, also with findings of level
WARNING; 130 interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			facts, err := c.Examine(cmd.Context(), direct)
			if err != nil {
				return err
			}
			now := time.Now()
			findings := doctor.Diagnose(facts, now)
			switch output.Format {
			case "":
				printFindings(terminal.Stdout(cmd), findings, facts)
				if !direct {
					terminal.Stdout(cmd).Printf("endpoints were dialled from inside their pods: whether API servers reach them was not checked; --direct dials their addresses\n")
				}
			case html:
				err = printPage(cmd, c, facts, direct, now)
			default:
				asked, endpoints := doctor.Asked(facts)
				err = output.Print(terminal.Stdout(cmd), report{findings, dialled{endpoints, asked, direct}})
			}
			return errors.Join(err, verdict(findings))
		},
	}
	connection.Add(cmd, cmd.Flags())
	formats := []string{"json", "yaml"}
	if printPage != nil {
		formats = append(formats, html)
	}
	output.Add(cmd, formats...)
	cmd.AddCommand(newExplainCommand(), newDrillCommand())
	cmd.Flags().BoolVar(&direct, "direct", false, "dial the addresses of the pods, as API servers do; the default is a port-forward, which also reaches a server that listens only on 127.0.0.1 of its pod")
	return cmd
}

// html is the output format of the page that the command ui serves, as one file for a support case.
const html = "html"

type report struct {
	Findings  []doctor.Finding `json:"findings"`
	Endpoints dialled          `json:"endpoints"`
}

// dialled is from how many endpoints the findings come.
type dialled struct {
	Ready   int  `json:"ready"`   // endpoints of Services that webhooks call
	Dialled int  `json:"dialled"` // of these
	Direct  bool `json:"direct"`  // from this machine to the address; otherwise from inside the pod
}

func printFindings(to output.Writer, findings []doctor.Finding, facts doctor.Facts) {
	for _, f := range findings {
		to.Printf("%s %s\n", strings.ToUpper(string(f.Level)), f.Code)
		for _, w := range f.Webhooks {
			to.Printf("  %s\n", w)
		}
		to.Printf("  %s\n  Way out: %s\n\n", f.Message, f.Remedy)
	}
	if facts.NoCSVs {
		to.Printf("This cluster does not know the kind ClusterServiceVersion: nothing in it belongs to an operator of OLM or of this manager.\n")
	}
	count := map[doctor.Level]int{}
	for _, f := range findings {
		count[f.Level]++
	}
	apis := 0
	for _, w := range facts.Webhooks {
		if w.Kind == doctor.APIService {
			apis++
		}
	}
	asked, endpoints := doctor.Asked(facts)
	to.Printf("checked %s and %s, dialled %d of %s: %s, %s, %d unknown\n", output.Counted(len(facts.Webhooks)-apis, "webhook"), output.Counted(apis, "APIService"), asked, output.Counted(endpoints, "endpoint"),
		output.Counted(count[doctor.Error], "error"), output.Counted(count[doctor.Warning], "warning"), count[doctor.Unknown])
}

// verdict returns an error with the exit code of the worst finding. An unexpected level counts as unknown.
func verdict(findings []doctor.Finding) error {
	var worst error
	for _, f := range findings {
		switch f.Level {
		case doctor.Error:
			return exitcode.With(exitLocked, errors.New("requests are refused now: see the findings of level ERROR"))
		case doctor.Warning:
		default:
			worst = exitcode.With(exitUnknown, errors.New("the state of some webhooks is unknown: see the findings of level UNKNOWN"))
		}
	}
	return worst
}
