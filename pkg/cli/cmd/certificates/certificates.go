// Package certificates has the commands that show and rotate serving certificates.
package certificates

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// NewCommand returns the command certificates.
func NewCommand() *cobra.Command {
	connection, output, all := flags.NewCluster(), flags.Output{}, false
	cmd := &cobra.Command{
		Use:   "certificates",
		Short: "Show the serving certificates of webhooks, or replace them",
		Long: `Shows the serving certificate of each Deployment with webhooks: provider, phase, expiry, time of the next rotation,
CA and, during a rotation, the endpoints with the new and the previous certificate. -o wide adds GENERATION, which
increases with each rotation (0: the manager does not count the certificates of this provider).`,
		Example: `  kubectl webhooks certificates -n shop
  kubectl webhooks certificates -A`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			namespace := metav1.NamespaceAll
			if !all {
				if namespace, err = connection.CurrentNamespace(); err != nil {
					return err
				}
			}
			rollouts, unknown, err := c.Rollouts(cmd.Context(), namespace)
			if err != nil {
				return err
			}
			if unknown {
				terminal.Stderr(cmd).Printf("This cluster does not know the kind WebhookRollout: the manager is not installed, and manages no certificates.\n")
			}
			return printCertificates(terminal.Stdout(cmd), output, certificatesOf(rollouts))
		},
	}
	connection.Add(cmd, cmd.PersistentFlags())
	output.Add(cmd, flags.Wide, "json", "yaml", "name")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces")
	cmd.AddCommand(newRotateCommand(connection))
	return cmd
}

type certificate struct {
	Namespace  string `json:"namespace"`
	CSV        string `json:"csv"`
	Deployment string `json:"deployment"`
	managerv1alpha1.CertificateStatus
}

func certificatesOf(rollouts []managerv1alpha1.WebhookRollout) []certificate {
	all := []certificate{}
	for _, r := range rollouts {
		for _, d := range r.Status.Deployments {
			if d.Certificate != nil {
				all = append(all, certificate{r.Namespace, r.Name, d.Name, *d.Certificate})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b certificate) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.CSV, b.CSV))
	})
	return all
}

func printCertificates(out output.Writer, o flags.Output, all []certificate) error {
	names := lists.Map(all, func(c certificate) string { return "secret/" + c.Secret })
	return o.PrintRows(out, map[string]any{"certificates": all}, names, func(wide bool) { tableOfCertificates(out, all, wide) })
}

func tableOfCertificates(out output.Writer, all []certificate, wide bool) {
	header := []string{"NAMESPACE", "CSV", "DEPLOYMENT", "PROVIDER", "PHASE", "EXPIRES", "ROTATES", "CA", "ENDPOINTS"}
	if wide {
		header = append(header, "GENERATION")
	}
	var rows [][]string
	for _, c := range all {
		fingerprint := c.CAFingerprint[:min(len(c.CAFingerprint), 12)]
		cells := []string{c.Namespace, c.CSV, c.Deployment, string(c.Provider), string(c.Phase), instantOr(c.NotAfter), instantOr(c.RenewalTime), cmp.Or(fingerprint, "-"), cmp.Or(c.Endpoints.String(), "-")}
		if wide {
			cells = append(cells, strconv.FormatInt(c.Generation, 10))
		}
		rows = append(rows, cells)
	}
	out.Table("", header, rows)
	for _, c := range all {
		if c.Message != "" {
			out.Printf("%s/%s %s: %s\n", c.Namespace, c.CSV, c.Deployment, c.Message)
		}
	}
}

func instantOr(t *metav1.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
