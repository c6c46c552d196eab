package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset"
)

// clusterOptions say which cluster, and which Namespace of it.
type clusterOptions struct {
	kubeconfig, namespace string
}

func (o *clusterOptions) add(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default: $KUBECONFIG, else the pod's service account)")
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace (default: the kubeconfig's)")
}

func (o *clusterOptions) client() (clientset.Interface, error) {
	config, err := clientConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	return clientset.NewForConfig(config)
}

// in is the Namespace that was asked for, or else the kubeconfig's.
func (o *clusterOptions) in() (string, error) {
	if o.namespace != "" {
		return o.namespace, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).Namespace()
	return namespace, err
}

func certificatesCommand() *cobra.Command {
	o := clusterOptions{}
	all := false
	cmd := &cobra.Command{
		Use:   "certificates",
		Short: "Show the serving certificates of webhooks, or replace them",
		Long: "Shows for each Deployment with webhooks who issued its serving certificate, in which phase it is, when it ends and when it is due, its CA, " +
			"and, while it replaces another, who serves which.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			namespace := metav1.NamespaceAll
			if !all {
				var err error
				if namespace, err = o.in(); err != nil {
					return err
				}
			}
			client, err := o.client()
			if err != nil {
				return err
			}
			return listCertificates(cmd.Context(), cmd.OutOrStdout(), client, namespace)
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	cmd.AddCommand(rotateCommand(&o))
	return cmd
}

func listCertificates(ctx context.Context, out io.Writer, client clientset.Interface, namespace string) error {
	rollouts, err := client.ManagerV1alpha1().WebhookRollouts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return printCertificates(out, rollouts.Items)
}

// printCertificates writes one line for each Deployment that has a certificate.
func printCertificates(out io.Writer, rollouts []managerv1alpha1.WebhookRollout) error {
	slices.SortFunc(rollouts, func(a, b managerv1alpha1.WebhookRollout) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tCSV\tDEPLOYMENT\tPROVIDER\tPHASE\tGENERATION\tEXPIRES\tROTATES\tCA\tENDPOINTS")
	var messages []string
	for _, r := range rollouts {
		for _, d := range r.Status.Deployments {
			c := d.Certificate
			if c == nil {
				continue
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Namespace, r.Name, d.Name, c.Provider, c.Phase, c.Generation,
				instantOr(c.NotAfter), instantOr(c.RotatesAt), cmp.Or(c.CAFingerprint[:min(len(c.CAFingerprint), 12)], "-"), cmp.Or(c.Endpoints, "-"))
			if c.Message != "" {
				messages = append(messages, fmt.Sprintf("%s/%s %s: %s", r.Namespace, r.Name, d.Name, c.Message))
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, m := range messages {
		fmt.Fprintln(out, m)
	}
	return nil
}

func instantOr(t *metav1.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
