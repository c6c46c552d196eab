package bundle

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

func newInstallCommand() *cobra.Command {
	o := installOptions{connection: flags.NewCluster().WithoutNamespace()}
	cmd := &cobra.Command{
		Use:   "install DIR|IMAGE",
		Short: "Install a bundle: show what it intercepts, grants and creates, confirm, and wait until its webhooks are live",
		Long: `Shows what the bundle intercepts, grants, defines and creates, as bundle show does, and asks for
confirmation. A bundle with objects of kinds that OLM does not support is refused; --allow-kind
allows further kinds. Then the command applies the bundle and prints the progress until the
ClusterServiceVersion is Succeeded and every webhook is live. If the installation cannot continue,
it prints the cause. -o wide adds the output of status -o wide. After Ctrl-C, the manager continues
with what is written; run the command again for the rest. An existing OperatorGroup in the namespace
determines the watched namespaces, unless flags set them. Flags that would change the webhooks of
another operator in the namespace are refused. What another client has written into the config of an
existing Subscription stays and is shown. If --config sets one of these fields to another value, the
command asks before it overwrites the field. With --yes it refuses, unless --adopt names the Subscription.

Exit codes: 0 installed; 1 refused, or no progress; 130 interrupted.`,
		Example: `  kubectl webhooks bundle install ./bundle --watch-namespaces shop,stock -n shop-operator
  kubectl webhooks bundle install quay.io/example/shop-bundle:v1.2.0 --all-namespaces --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, shown, err := o.prepare(cmd, args[0], (*installer.Installer).CompleteInstall)
			if err != nil {
				return err
			}
			return o.execute(cmd, c, shown, "Install it")
		},
	}
	o.add(cmd, flags.Wide)
	o.addInstalling(cmd)
	return cmd
}

func (o *installOptions) execute(cmd *cobra.Command, c *installer.Installer, shown installer.Shown, question string) error {
	i := shown.Installation()
	if o.dryRun == dryRunClient {
		if err := errors.Join(c.CheckDefinitions(cmd.Context(), i.Bundle), c.PrintReplaced(cmd.Context(), shown)); err != nil {
			return fmt.Errorf("nothing was changed:\n%w", err)
		}
		return o.dryRunLocally(cmd, i)
	}
	plan, err := c.Plan(cmd.Context(), shown)
	if err != nil {
		return fmt.Errorf("nothing was changed:\n%w", err)
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
	agreed, err := plan.Confirm(func() error {
		return terminal.Confirm(cmd, o.output.Messages(cmd), o.yes, fmt.Sprintf("%s in namespace %s?", question, i.Namespace()))
	})
	if err != nil {
		return err
	}
	applied, err := c.Install(cmd.Context(), agreed)
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

func (o *installOptions) conclude(cmd *cobra.Command, c *installer.Installer, i installer.Installation) error {
	out := o.output.Messages(cmd)
	rollout, err := c.OLM.WebhookRollouts(i.Namespace()).Get(cmd.Context(), i.Bundle.CSV.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	out.Printf("%s is installed%s\n", i.Bundle.CSV.Name, deploy.LiveWebhooks(rollout))
	if o.output.Format != flags.Wide {
		return nil
	}
	out.Printf("\n")
	return status.PrintWide(cmd.Context(), c.Cluster, i.Namespace(), out)
}

func ended(err error) error {
	if errors.Is(err, installer.ErrInterrupted) {
		return exitcode.With(exitcode.Interrupted, err)
	}
	return err
}
