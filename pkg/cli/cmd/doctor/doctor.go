// Package doctor has the command that reports webhooks that block the cluster, or could.
package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// The exit codes of doctor, for scripts.
const (
	exitUnknown = 1 // something could not be found out
	exitLocked  = 2 // something refuses requests now
)

// NewCommand returns the command doctor.
func NewCommand() *cobra.Command {
	connection, output, direct := flags.NewCluster().WithoutNamespace(), flags.Output{}, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether the webhooks of a cluster, whoever made them, lock it out now, or could",
		Long: `Looks at every webhook and every aggregated APIService of the cluster, of whatever origin: does its Service exist, is
anybody ready behind it, does what is served have a certificate that the registration
trusts, can its pods come back when they are lost, and does the control plane depend on it.

Nothing is written. To see certificates, the pods are reached as kubectl port-forward
reaches them; that takes the permission to create pods/portforward.

Exit codes: 0 nothing refuses requests now; 2 something does; 1 it could not be found out, for one
webhook or for all: there is a finding of level UNKNOWN, or the cluster could not be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			facts, err := c.Examine(cmd.Context(), direct)
			if err != nil {
				return err
			}
			findings := doctor.Diagnose(facts, time.Now())
			if output.Format != "" {
				err = output.Print(terminal.Stdout(cmd), map[string]any{"findings": findings})
			} else {
				printFindings(terminal.Stdout(cmd), findings, facts)
			}
			return errors.Join(err, verdict(findings))
		},
	}
	connection.Add(cmd, cmd.Flags())
	output.Add(cmd, "json", "yaml")
	cmd.Flags().BoolVar(&direct, "direct", false, "dial the pods by their addresses, as API servers do; the default is a port-forward through the API server, which also reaches a server that listens on 127.0.0.1 of its pod only")
	return cmd
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
	to.Printf("%s and %s looked at, %d of %s asked: %s, %s, %d unknown\n", counted(len(facts.Webhooks)-apis, "webhook"), counted(apis, "APIService"), asked, counted(endpoints, "endpoint"),
		counted(count[doctor.Error], "error"), counted(count[doctor.Warning], "warning"), count[doctor.Unknown])
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// verdict is the exit code of the worst finding. A level that is not named here counts as unknown.
func verdict(findings []doctor.Finding) error {
	var worst error
	for _, f := range findings {
		switch f.Level {
		case doctor.Error:
			return exitcode.With(exitLocked, errors.New("requests are refused now because of what is found above"))
		case doctor.Warning:
		default:
			worst = exitcode.With(exitUnknown, errors.New("whether requests are refused could not be found out for every webhook: see the findings of level UNKNOWN"))
		}
	}
	return worst
}
