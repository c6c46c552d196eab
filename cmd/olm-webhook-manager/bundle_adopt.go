package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// adopt asks about each object of another owner that the plan would overwrite. --yes is no answer
// to that: where nobody can be asked, --adopt names each object.
func (o *installOptions) adopt(cmd *cobra.Command, plan *cluster.Plan) error {
	if err := unknownAdoptions(plan.Steps, plan.Adopted); err != nil {
		return err
	}
	foreign := deploy.Unadopted(plan.Steps, plan.Adopted)
	if len(foreign) == 0 {
		return nil
	}
	if o.yes {
		return o.warnForeign(cmd, *plan)
	}
	for _, s := range foreign {
		out := o.output.tellsOn(cmd)
		out.Printf("warning: %s\n", s.Describe())
		if err := confirm(cmd, out, false, "Overwrite "+deploy.Title(s.Object)+"?"); err != nil {
			return fmt.Errorf("%w (or --adopt %s)", err, deploy.Reference(s.Object))
		}
		plan.Adopted = append(plan.Adopted, deploy.Reference(s.Object))
	}
	return nil
}

// warnForeign says which objects of other owners would be overwritten, and how to allow each.
func (o *installOptions) warnForeign(cmd *cobra.Command, plan cluster.Plan) error {
	var flags []string
	for _, s := range deploy.Unadopted(plan.Steps, plan.Adopted) {
		o.output.tellsOn(cmd).Printf("warning: %s\n", s.Describe())
		flags = append(flags, "--adopt "+deploy.Reference(s.Object))
	}
	if len(flags) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: objects of other owners would be overwritten; to allow it: %s", strings.Join(flags, " "))
}

// unknownAdoptions refuses --adopt for what the bundle does not have.
func unknownAdoptions(steps []deploy.Step, adopted []string) error {
	var wrong []error
	for _, reference := range adopted {
		if !slices.ContainsFunc(steps, func(s deploy.Step) bool { return deploy.Reference(s.Object) == reference }) {
			wrong = append(wrong, fmt.Errorf("--adopt %s: the bundle has no such object", reference))
		}
	}
	return errors.Join(wrong...)
}
