package certificates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

func newRotateCommand(connection flags.Cluster) *cobra.Command {
	compromised, yes := false, false
	cmd := &cobra.Command{
		Use:   "rotate CSV",
		Short: "Replace the serving certificates of a ClusterServiceVersion's webhooks now",
		Long: "Requests new serving certificates. The new CA is trusted before a pod serves its certificate, and the previous CA until no pod does. " +
			"So no call fails, provided that pods reload their certificate or drain on SIGTERM.\n\n" +
			"With --compromised, the previous CA is no longer trusted. Calls fail until each pod serves its new certificate and each API server has the new CA. " +
			"The command prints which calls these are, and asks for confirmation, before it requests the rotation.\n\n" +
			"The command refuses a ClusterServiceVersion for which no manager would carry out the request: a copy, one that no manager has reconciled, " +
			"and one whose webhooks belong to another version, because it was replaced or waits for its upgrade.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: flags.FirstArgument(connection.Names(cluster.ClusterServiceVersions)),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, err := connection.CurrentNamespace()
			if err != nil {
				return err
			}
			c, err := connection.Connect()
			if err != nil {
				return err
			}
			out, of := terminal.Stdout(cmd), types.NamespacedName{Namespace: namespace, Name: args[0]}
			return rotate(cmd.Context(), out, c.OLM, of, compromised, func() error {
				return terminal.Confirm(cmd, out, yes, fmt.Sprintf("Rotate the certificates of ClusterServiceVersion %s, and stop trusting the previous CAs at once?", of))
			}, time.Now())
		},
	}
	cmd.Flags().BoolVar(&compromised, "compromised", false, "stop trusting the previous CAs at once; calls fail until the pods serve new certificates")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation of --compromised")
	return cmd
}

func rotate(ctx context.Context, out output.Writer, client *olmclient.Client, of types.NamespacedName, compromised bool, confirm func() error, now time.Time) error {
	var provider managerv1alpha1.CertificateProvider
	order := now.UTC().Format(time.RFC3339Nano)
	if compromised {
		order = wellknown.RotateCompromised + " " + order
	}
	confirmed := int64(-1) // the generation whose losses are confirmed
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		csv, err := client.ClusterServiceVersions(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errors.New("it does not exist: name it and its namespace (-n) as kubectl webhooks certificates -A lists them")
		}
		if err != nil {
			return err
		}
		rollouts, err := rolloutsOf(ctx, client, of) // after the ClusterServiceVersion, which a replacement changes
		if err != nil {
			return err
		}
		if reason := ignored(csv, rollouts, compromised); reason != "" {
			return fmt.Errorf("nothing was requested: %s", reason)
		}
		provider = rollouts.own.Status.Provider
		if compromised && csv.Generation != confirmed {
			// A bad request may mean that a webhook does not support dry runs.
			if err := request(ctx, client, of, csv.ResourceVersion, order, metav1.DryRunAll); err != nil && !apierrors.IsBadRequest(err) {
				return err
			}
			printLosses(out, csv)
			if err := confirm(); err != nil {
				return err
			}
			confirmed = csv.Generation
		}
		return request(ctx, client, of, csv.ResourceVersion, order)
	})
	if err != nil {
		return fmt.Errorf("ClusterServiceVersion %s: %w", of, err)
	}
	out.Printf("rotation requested; to follow it: kubectl webhooks certificates -n %s\n", of.Namespace)
	others := issuers.HasController(provider)
	if others {
		out.Printf("%s is asked to reissue the certificate; until then, pods serve the previous one\n", provider)
	}
	if others && compromised {
		out.Printf("the CA of %s itself stays trusted until it issues under another\n", provider)
	}
	return nil
}

func request(ctx context.Context, client *olmclient.Client, of types.NamespacedName, resourceVersion, order string, dryRun ...string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": resourceVersion, "annotations": map[string]string{wellknown.AnnotationRotate: order},
	}})
	if err != nil {
		return err
	}
	_, err = client.ClusterServiceVersions(of.Namespace).Patch(ctx, of.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager, DryRun: dryRun})
	return err
}

func printLosses(out output.Writer, csv *operatorsv1alpha1.ClusterServiceVersion) {
	out.Printf("until every pod serves its new certificate, API servers refuse connections to pods that do not serve it yet:\n")
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		out.Printf("  %s: reading and writing of %s fails\n", csvspec.APIServiceName(d.Group, d.Version), d.Kind)
	}
	for _, d := range csv.Spec.WebhookDefinitions {
		switch {
		case d.Type == operatorsv1alpha1.ConversionWebhook:
			out.Printf("  %s: reading and writing %s in other versions than the stored one fails\n", d.GenerateName, strings.Join(d.ConversionCRDs, ", "))
		case d.FailurePolicy != nil && *d.FailurePolicy == admissionregistrationv1.Ignore:
			out.Printf("  %s: %s is not checked (failurePolicy Ignore)\n", d.GenerateName, calls(d))
		default:
			out.Printf("  %s: %s fails (failurePolicy Fail)\n", d.GenerateName, calls(d))
		}
	}
	out.Printf("servers that reload serve the new certificate within seconds; the manager restarts the pods of the others one by one\n")
}

func calls(d operatorsv1alpha1.WebhookDescription) string {
	all := lists.Map(d.Rules, func(r admissionregistrationv1.RuleWithOperations) string {
		return strings.Join(lists.Texts(r.Operations), "/") + " of " + strings.Join(r.Resources, ", ")
	})
	return strings.Join(all, "; ")
}
