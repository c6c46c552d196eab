// Package takeover has the commands by which the manager takes the place of a running olm-operator, and gives it back.
package takeover

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
)

// NewCommand returns the command takeover.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "takeover",
		Short: "Take the place of a running olm-operator without a restarted pod, and give it back",
		Long: `Lets the manager take the place of olm-operator of OLM v0. The objects that olm-operator created keep their names, uids
and pods. Every command reads the state of the cluster and does what is next: after an interruption, run it again.
docs/admin/takeover.md has the risks and the steps.`,
	}
	cmd.AddCommand(newPlanCommand(), newRunCommand(), newUndoCommand(), newConvergeCommand(), newStatusCommand())
	return cmd
}

// programs are the flags that identify the cluster, olm-operator and the manager.
type programs struct {
	connection   flags.Cluster
	deployment   string
	olmNamespace string
	olmVersion   string
}

func newPrograms(cmd *cobra.Command) *programs {
	p := &programs{connection: flags.NewCluster().InNamespace(wellknown.FieldManager)}
	p.connection.Add(cmd, cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "namespace of the manager's Deployment"
	cmd.Flags().StringVar(&p.deployment, "deployment", wellknown.FieldManager, "name of the manager's Deployment")
	cmd.Flags().StringVar(&p.olmNamespace, "olm-namespace", "", "namespace of Deployment olm-operator (default: the only one)")
	cmd.Flags().StringVar(&p.olmVersion, "olm-version", "", "version of OLM, such as v0.46.0 (default: that of ClusterServiceVersion packageserver)")
	return p
}

// target reads and writes the state of a takeover.
type target struct {
	cluster.TakeoverReader

	calls *cluster.CallCounters
}

func (p *programs) connect() (*target, error) {
	c, err := p.connection.Connect()
	if err != nil {
		return nil, err
	}
	return &target{cluster.TakeoverReader{
		Cluster: c, Manager: types.NamespacedName{Namespace: *p.connection.Namespace, Name: p.deployment}, OLMNamespace: p.olmNamespace, OLMVersion: p.olmVersion,
	}, &cluster.CallCounters{Cluster: c}}, nil
}
