package bundle

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

// adopt asks about each object of another client that the plan would overwrite. --adopt answers, and --yes does not.
func (o *installOptions) adopt(cmd *cobra.Command, plan *installer.Plan) error {
	if err := deploy.CheckAdoptions(plan.Adopted, plan.Objects(), deploy.Replaced(plan.CSV())); err != nil {
		return err
	}
	unadopted := deploy.Unadopted(plan.Steps(), plan.Adopted)
	if len(unadopted) == 0 {
		return nil
	}
	if o.yes {
		return o.checkAdopted(cmd, *plan)
	}
	for _, s := range unadopted {
		out := o.output.Messages(cmd)
		out.Printf("warning: %s\n", s.Describe())
		if err := terminal.Confirm(cmd, out, false, "Overwrite "+deploy.Title(s.Object)+"?"); err != nil {
			return fmt.Errorf("%w (or --adopt %s)", err, deploy.Reference(s.Object))
		}
		plan.Adopted = append(plan.Adopted, deploy.Reference(s.Object))
	}
	return nil
}

func (o *installOptions) checkAdopted(cmd *cobra.Command, plan installer.Plan) error {
	var flags []string
	for _, s := range deploy.Unadopted(plan.Steps(), plan.Adopted) {
		o.output.Messages(cmd).Printf("warning: %s\n", s.Describe())
		flags = append(flags, "--adopt "+deploy.Reference(s.Object))
	}
	if len(flags) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: what other clients own or have set would be overwritten; to allow it: %s", strings.Join(flags, " "))
}
