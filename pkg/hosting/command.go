package hosting

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

// Run runs the command with the arguments of the process until SIGTERM or SIGINT, and returns the
// exit code of the process. It drains webhooks first. A second signal ends the process at once.
func (b *Builder) Run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	defer klog.Flush()
	if err := b.Command().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return 1
	}
	return 0
}

// Command returns the command, for authors who have other commands, too. It runs until its context
// ends. Its flags depend on what is registered when Command is called.
func (b *Builder) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           b.name,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	o := newOptions(b.name)
	sets := o.flags(b)
	for _, name := range sets.Order {
		cmd.Flags().AddFlagSet(sets.FlagSets[name])
	}
	cliflag.SetUsageAndHelpFunc(cmd, *sets, 100)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := b.check(); err != nil {
			return err
		}
		if err := o.complete(); err != nil {
			return err
		}
		p, err := newProcess(b, o)
		if err != nil {
			return err
		}
		return p.run(cmd.Context())
	}
	return cmd
}
