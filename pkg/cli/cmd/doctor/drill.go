package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// drillOptions are the flags of doctor drill.
type drillOptions struct {
	connection flags.Cluster
	format     string
	dumps      []string
}

func newDrillCommand() *cobra.Command {
	o := drillOptions{connection: flags.NewCluster().WithoutNamespace()}
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Predict what returns after all pods are lost, and which webhooks keep others from returning",
		Long: `Predicts what returns after all pods of the cluster are lost at once, as when all nodes are replaced. The API server and etcd
run. The controller manager, the scheduler and the kubelets start again. They send the requests that pods and endpoints need:
leases, the status of Nodes, tokens, pods, bindings, the status of pods, EndpointSlices. A webhook with failurePolicy Fail
refuses the requests that it sees until its own pods are ready.

The command reports in which order workloads return, and which never do; the cycles of webhooks, Services and workloads that
keep each other from returning; and the smallest set of changes that breaks each cycle. It deletes no pods, sends no request
to a webhook, and writes nothing.

With --dump, the command reads files instead of a cluster: the output of kubectl get -o yaml of webhook configurations,
Namespaces, CustomResourceDefinitions, APIServices, Nodes, Leases, ServiceAccounts, ResourceQuotas, Services, EndpointSlices,
Deployments, ReplicaSets, StatefulSets, DaemonSets and Pods. A condition that asks the authorizer is not evaluated then.

Exit codes: 2 a webhook keeps a workload, a Node or the control plane from returning; 1 it is not known whether one does, or
the cluster could not be read; 0 otherwise; 130 interrupted.`,
		Example: `  kubectl webhooks doctor drill
  kubectl webhooks doctor drill -o mermaid > drill.mmd
  kubectl webhooks doctor drill --dump cluster.yaml,workloads.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			prediction, err := o.predict(cmd.Context())
			if err != nil {
				return err
			}
			if err := printPrediction(terminal.Stdout(cmd), o.format, prediction); err != nil {
				return err
			}
			return drillVerdict(prediction)
		},
	}
	o.connection.Add(cmd, cmd.Flags())
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "text, json, yaml; mermaid or dot for a picture")
	flags.Complete(cmd, "output", "text", "json", "yaml", "mermaid", "dot")
	cmd.Flags().StringSliceVar(&o.dumps, "dump", nil, "files with the objects of a cluster, to be read instead of a cluster")
	return cmd
}

func (o drillOptions) predict(ctx context.Context) (drill.Prediction, error) {
	if len(o.dumps) > 0 {
		var s drill.Snapshot
		if err := readDumps(o.dumps, s.Add); err != nil {
			return drill.Prediction{}, err
		}
		return drill.Predict(s)
	}
	c, err := o.connection.Connect()
	if err != nil {
		return drill.Prediction{}, err
	}
	s, err := c.Drill(ctx)
	if err != nil {
		return drill.Prediction{}, err
	}
	return c.Predict(ctx, s)
}

func printPrediction(to output.Writer, format string, p drill.Prediction) error {
	switch format {
	case "text":
		printDrill(to, p)
	case "mermaid":
		printMermaid(to, p.Picture())
	case "dot":
		printDot(to, p.Picture())
	case "json":
		return to.JSON(p)
	case "yaml":
		return to.YAML(p)
	default:
		return fmt.Errorf("--output=%s is no format of this command: see --help", format)
	}
	return nil
}

func drillVerdict(p drill.Prediction) error {
	switch surely, perhaps := p.Blocked(); {
	case surely:
		return exitcode.With(exitLocked, errors.New("webhooks would keep parts of the cluster from returning"))
	case perhaps:
		return exitcode.With(exitUnknown, errors.New("it is not known whether webhooks would keep parts of the cluster from returning"))
	default:
		return nil
	}
}
