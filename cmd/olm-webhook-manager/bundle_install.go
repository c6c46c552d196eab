package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// exitInterrupted is what shells give a command that Ctrl-C ended.
const exitInterrupted = 130

// installOptions are the flags of the commands that change a cluster by a bundle.
type installOptions struct {
	targetOptions
	flags        clusterFlags
	certificates string
	issuer       string
	patience     time.Duration
	output       objectsFlag
	yes          bool
	dryRun       string
}

// What --dry-run may be, as kubectl has it.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (o *installOptions) add(cmd *cobra.Command, forPeople ...string) {
	o.flags.add(cmd, cmd.Flags())
	o.targetOptions.add(cmd, &o.flags)
	o.output.add(cmd, forPeople...)
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.DurationVar(&o.patience, "patience", deploy.DefaultPatience, "how long it may be in trouble that does not mend itself before the command ends and says which")
	f.StringVar(&o.dryRun, "dry-run", dryRunNone, "client: check everything here and show what would be done; server: ask the API server as well, for each object; none")
	f.Lookup("dry-run").NoOptDefVal = dryRunClient
	complete(cmd, "dry-run", dryRunServer, dryRunClient, dryRunNone)
}

// check refuses flags that cannot be followed, before anything is done.
func (o *installOptions) check() error {
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, o.dryRun) {
		return fmt.Errorf("--dry-run=%s: use server, client or none", o.dryRun)
	}
	return o.output.check()
}

// addInstalling adds the flags of the commands that bring an operator.
func (o *installOptions) addInstalling(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.certificates, "certificates", "", "who issues serving certificates: manager (default), cert-manager, service-ca or none")
	complete(cmd, "certificates", string(managerv1alpha1.ProviderManager), string(managerv1alpha1.ProviderCertManager), string(managerv1alpha1.ProviderServiceCA), string(managerv1alpha1.ProviderNone))
	f.StringVar(&o.issuer, "issuer", "", "the issuer of cert-manager that signs, as Kind/name")
}

func bundleInstallCommand() *cobra.Command {
	o := installOptions{flags: newClusterFlags().withoutNamespace()}
	cmd := &cobra.Command{
		Use:   "install DIR|IMAGE",
		Short: "Install a bundle: show what its webhooks intercept, ask, and follow it until they are live",
		Long: `Shows what the bundle's webhooks will intercept and asks. Then it applies the bundle, and
tells what happens until the ClusterServiceVersion is Succeeded and every webhook live, or
what is in the way; with -o wide also what status -o wide shows then. Ctrl-C ends the telling
only: run it again to go on. An OperatorGroup that is in the namespace already decides which
namespaces are watched, unless flags say otherwise; those are refused where they would change
the webhooks of another operator there.

Exit codes: 0 installed; 1 it was refused, or does not go on; 130 interrupted.`,
		Example: `  kubectl webhooks bundle install ./bundle --watch-namespaces shop,stock -n shop-operator
  kubectl webhooks bundle install quay.io/example/shop-bundle:v1.2.0 --all-namespaces --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.install(cmd, args[0])
		},
	}
	o.add(cmd, wide)
	o.addInstalling(cmd)
	return cmd
}

func (o *installOptions) install(cmd *cobra.Command, reference string) error {
	c, i, err := o.prepare(cmd, reference, (*cluster.Cluster).Join)
	if err != nil {
		return err
	}
	others, err := c.Others(cmd.Context(), i.Namespace(), i.Bundle.CSV.Name)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Name == i.Bundle.CSV.Spec.Replaces && other.Status.Phase != operatorsv1alpha1.CSVPhaseReplacing && other.Status.Phase != operatorsv1alpha1.CSVPhaseDeleting {
			return fmt.Errorf("%s, which %s replaces, is installed in %s: use bundle upgrade", other.Name, i.Bundle.CSV.Name, i.Namespace())
		}
	}
	return o.goAhead(cmd, c, i, "Install it")
}

// goAhead checks, asks, and installs; or tries to, where that is all that is asked for.
func (o *installOptions) goAhead(cmd *cobra.Command, c *cluster.Cluster, i cluster.Installation, question string) error {
	if err := c.CheckDefinitions(cmd.Context(), i.Bundle); err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
	}
	if o.dryRun != dryRunNone {
		return o.try(cmd, c, i)
	}
	if err := confirm(cmd, o.output.tellsOn(cmd), o.yes, fmt.Sprintf("%s in namespace %s?", question, i.Namespace())); err != nil {
		return err
	}
	applied, err := c.Install(cmd.Context(), i)
	if err := errors.Join(err, o.output.print(cmd.OutOrStdout(), applied)); err != nil {
		return ended(err)
	}
	return o.conclude(cmd, c, i)
}

// try shows what would be applied, and what the API server says to it if that is to be asked.
func (o *installOptions) try(cmd *cobra.Command, c *cluster.Cluster, i cluster.Installation) error {
	if o.dryRun == dryRunServer {
		tried, err := c.TryInstall(cmd.Context(), i)
		return errors.Join(err, o.output.print(cmd.OutOrStdout(), tried))
	}
	for _, m := range i.Applied() {
		fmt.Fprintf(o.output.tellsOn(cmd), "would apply %s\n", cluster.NameOf(m))
	}
	return o.output.print(cmd.OutOrStdout(), i.Applied())
}

// conclude says what is installed, and how it is if people want to know more.
func (o *installOptions) conclude(cmd *cobra.Command, c *cluster.Cluster, i cluster.Installation) error {
	out := o.output.tellsOn(cmd)
	fmt.Fprintf(out, "%s is installed%s\n", i.Bundle.CSV.Name, live(i.Bundle.CSV))
	if o.output.format != wide {
		return nil
	}
	fmt.Fprintln(out)
	return statusOptions{namespace: i.Namespace(), output: o.output.outputFlag}.show(cmd.Context(), c, out)
}

// live says what became of the webhooks, if there are any.
func live(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	switch len(csv.Spec.WebhookDefinitions) {
	case 0:
		return ""
	case 1:
		return ", its webhook is live"
	default:
		return ", its webhooks are live"
	}
}

// ended gives an interruption the exit code that shells expect.
func ended(err error) error {
	if errors.Is(err, cluster.ErrInterrupted) {
		return codedError{exitInterrupted, err}
	}
	return err
}

// teller says what happens, and how long it took to get there.
func teller(out io.Writer) func(format string, args ...any) {
	began := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}
