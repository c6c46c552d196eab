package bundle

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// installOptions are the flags of the commands that change a cluster by a bundle.
type installOptions struct {
	targetOptions
	connection   flags.Cluster
	certificates string
	issuer       string
	patience     time.Duration
	output       flags.Objects
	yes          bool
	adopted      []string
	dryRun       string
	waivers      []lint.Waiver // of the file next to the bundle, for --dry-run=client
}

// What --dry-run may be, as kubectl has it.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (o *installOptions) add(cmd *cobra.Command, forPeople ...string) {
	f := cmd.Flags()
	f.DurationVar(&o.patience, "patience", deploy.DefaultTimeout, "how long a problem may last before the command prints it and ends, and how long a registry may take to send the image")
	o.connection.Add(cmd, f)
	o.targetOptions.add(cmd, &o.connection)
	o.output.Add(cmd, forPeople...)
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	f.StringArrayVar(&o.adopted, "adopt", nil, "an object owned by another client that the command may overwrite or remove, as KIND.GROUP/NAMESPACE/NAME or KIND.GROUP/NAME; can be repeated")
	f.StringVar(&o.dryRun, "dry-run", dryRunNone, "client: validate locally and print what would be done; server: also let the API server validate each object; none")
	f.Lookup("dry-run").NoOptDefVal = dryRunClient
	flags.Complete(cmd, "dry-run", dryRunServer, dryRunClient, dryRunNone)
}

func (o *installOptions) check() error {
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, o.dryRun) {
		return fmt.Errorf("--dry-run=%s: use server, client or none", o.dryRun)
	}
	return o.output.Check()
}

func (o *installOptions) addInstalling(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.certificates, "certificates", "", "the provider of serving certificates: "+issuers.Alternatives()+" (default: "+issuers.Names()[0]+"; for an upgrade: the present one)")
	flags.Complete(cmd, "certificates", issuers.Names()...)
	f.StringVar(&o.issuer, "issuer", "", "the issuer of cert-manager that signs, as Issuer/NAME, ClusterIssuer/NAME or KIND.GROUP/NAME")
}

func bundleInstallCommand() *cobra.Command {
	o := installOptions{connection: flags.NewCluster().WithoutNamespace()}
	cmd := &cobra.Command{
		Use:   "install DIR|IMAGE",
		Short: "Install a bundle: show what it intercepts, grants and creates, confirm, and wait until its webhooks are live",
		Long: `Shows what the bundle intercepts, grants, defines and creates, as bundle show does, and asks for
confirmation. A bundle with objects of kinds that OLM does not support is refused; --allow-kind
allows further kinds. Then the command applies the bundle and prints the progress until the
ClusterServiceVersion is Succeeded and every webhook is live. If the installation cannot continue,
it prints the cause. -o wide adds the output of status -o wide. After Ctrl-C, the manager continues
the installation; run the command again to watch it. An existing OperatorGroup in the namespace
determines the watched namespaces, unless flags set them. Flags that would change the webhooks of
another operator in the namespace are refused.

Exit codes: 0 installed; 1 refused, or no progress; 130 interrupted.`,
		Example: `  kubectl webhooks bundle install ./bundle --watch-namespaces shop,stock -n shop-operator
  kubectl webhooks bundle install quay.io/example/shop-bundle:v1.2.0 --all-namespaces --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.install(cmd, args[0])
		},
	}
	o.add(cmd, flags.Wide)
	o.addInstalling(cmd)
	return cmd
}

func (o *installOptions) install(cmd *cobra.Command, reference string) error {
	c, i, err := o.prepare(cmd, reference, (*installer.Installer).CompleteInstall)
	if err != nil {
		return err
	}
	return o.execute(cmd, c, i, "Install it")
}

// execute checks, asks for confirmation and installs, or does a dry run.
func (o *installOptions) execute(cmd *cobra.Command, c *installer.Installer, i installer.Installation, question string) error {
	if err := c.CheckDefinitions(cmd.Context(), i.Bundle); err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
	}
	if o.dryRun == dryRunClient {
		return o.dryRunLocally(cmd, i)
	}
	plan, err := c.Plan(cmd.Context(), i)
	if err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
	}
	for _, change := range deploy.Changes(plan.Steps(), plan.Adopted) {
		o.output.Messages(cmd).Printf("%s\n", change)
	}
	if o.dryRun == dryRunServer {
		tried, err := c.DryRunInstall(plan)
		return errors.Join(err, o.checkAdopted(cmd, plan), o.output.Print(terminal.Stdout(cmd), tried))
	}
	if err := plan.Err(); err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
	}
	if err := o.adopt(cmd, &plan); err != nil {
		return err
	}
	if err := terminal.Confirm(cmd, o.output.Messages(cmd), o.yes, fmt.Sprintf("%s in namespace %s?", question, i.Namespace())); err != nil {
		return err
	}
	applied, err := c.Install(cmd.Context(), plan)
	if err := errors.Join(err, o.output.Print(terminal.Stdout(cmd), applied)); err != nil {
		return ended(err)
	}
	return o.conclude(cmd, c, i)
}

// dryRunLocally validates the bundle as bundle validate does, with the same waivers, and prints the objects.
func (o *installOptions) dryRunLocally(cmd *cobra.Command, i installer.Installation) error {
	out := o.output.Messages(cmd)
	report := lint.Run(i.Bundle, o.waivers...)
	report.Print(out)
	for _, m := range i.Objects() {
		out.Printf("would apply %s\n", deploy.Title(m))
	}
	if err := o.output.Print(terminal.Stdout(cmd), i.Objects()); err != nil {
		return err
	}
	if n := report.Count(lint.Error); n > 0 {
		return fmt.Errorf("not valid: %s: bundle validate finds errors: %d", i.Bundle.Source, n)
	}
	return nil
}

// conclude prints the result, and with -o wide the status.
func (o *installOptions) conclude(cmd *cobra.Command, c *installer.Installer, i installer.Installation) error {
	out := o.output.Messages(cmd)
	out.Printf("%s is installed%s\n", i.Bundle.CSV.Name, live(i.Bundle.CSV))
	if o.output.Format != flags.Wide {
		return nil
	}
	out.Printf("\n")
	return status.PrintWide(cmd.Context(), c.Cluster, i.Namespace(), out)
}

// live returns the state of the webhooks for the last message.
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

// ended sets the exit code of an interruption.
func ended(err error) error {
	if errors.Is(err, installer.ErrInterrupted) {
		return exitcode.With(exitcode.Interrupted, err)
	}
	return err
}

// timedPrinter returns a function that prints messages with the elapsed time.
func timedPrinter(out output.Writer) func(format string, args ...any) {
	began := time.Now()
	return func(format string, args ...any) {
		out.Printf("%6.1fs  ", time.Since(began).Seconds())
		out.Printf(format+"\n", args...)
	}
}
