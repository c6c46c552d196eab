package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/doctor"
)

// exitLocked tells scripts that doctor found something that refuses requests now.
const exitLocked = 2

func doctorCommand() *cobra.Command {
	flags, output, direct := newClusterFlags().withoutNamespace(), outputFlag{}, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether the webhooks of a cluster, whoever made them, lock it out now, or could",
		Long: `Looks at every webhook and every aggregated APIService of the cluster, of whatever origin: does its Service exist, is
anybody ready behind it, does what is served have a certificate that the registration
trusts, can its pods come back when they are lost, and does the control plane depend on it.

Nothing is written. To see certificates, the pods are reached as kubectl port-forward
reaches them; that takes the permission to create pods/portforward.

Exit codes: 0 nothing refuses requests now; 2 something does; 1 it could not be found out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			c, err := flags.connect()
			if err != nil {
				return err
			}
			facts, err := c.Examine(cmd.Context(), direct)
			if err != nil {
				return err
			}
			findings := doctor.Judge(facts, time.Now())
			if output.format != "" {
				err = output.print(cmd.OutOrStdout(), map[string]any{"findings": findings})
			} else {
				printFindings(cmd.OutOrStdout(), findings, facts)
			}
			return errors.Join(err, locked(findings))
		},
	}
	flags.add(cmd, cmd.Flags())
	output.add(cmd, "json", "yaml")
	cmd.Flags().BoolVar(&direct, "direct", false, "dial the pods by their addresses, as API servers do, not through the API server")
	return cmd
}

func printFindings(to io.Writer, findings []doctor.Finding, facts doctor.Facts) {
	for _, f := range findings {
		fmt.Fprintf(to, "%s %s\n", strings.ToUpper(string(f.Level)), f.Code)
		for _, w := range f.Webhooks {
			fmt.Fprintf(to, "  %s\n", w)
		}
		fmt.Fprintf(to, "  %s\n  Way out: %s\n\n", f.Message, f.WayOut)
	}
	if facts.NoCSVs {
		fmt.Fprintln(to, "This cluster does not know the kind ClusterServiceVersion: nothing in it belongs to an operator of OLM or of this manager.")
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
	fmt.Fprintf(to, "%s and %s looked at: %s, %s, %d unknown\n", counted(len(facts.Webhooks)-apis, "webhook"), counted(apis, "APIService"),
		counted(count[doctor.Error], "error"), counted(count[doctor.Warning], "warning"), count[doctor.Unknown])
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func locked(findings []doctor.Finding) error {
	if len(findings) > 0 && findings[0].Level == doctor.Error {
		return codedError{exitLocked, errors.New("requests are refused now because of what is found above")}
	}
	return nil
}
