package bundle

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

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

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (o *installOptions) add(cmd *cobra.Command, forPeople ...string) {
	f := cmd.Flags()
	f.DurationVar(&o.patience, "patience", deploy.DefaultTimeout, "time without progress after which the command prints the cause and ends; also the time limit for the download of an image")
	o.connection.Add(cmd, f)
	o.targetOptions.add(cmd, &o.connection)
	o.output.Add(cmd, forPeople...)
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	f.StringArrayVar(&o.adopted, "adopt", nil, "an object owned by another client that the command may overwrite or remove, as KIND.GROUP/NAMESPACE/NAME or KIND.GROUP/NAME; can be repeated")
	f.StringVar(&o.dryRun, "dry-run", dryRunNone, "client: validate locally and print what would be done; server: also let the API server validate each object; none")
	f.Lookup("dry-run").NoOptDefVal = dryRunClient
	flags.Complete(cmd, "dry-run", dryRunServer, dryRunClient, dryRunNone)
}

func (o *installOptions) addInstalling(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.certificates, "certificates", "", "the provider of serving certificates: "+issuers.Alternatives()+" (default: "+issuers.Names()[0]+"; for an upgrade without --config: the present one)")
	flags.Complete(cmd, "certificates", issuers.Names()...)
	f.StringVar(&o.issuer, "issuer", "", "the issuer of cert-manager that signs, as Issuer/NAME, ClusterIssuer/NAME or KIND.GROUP/NAME")
}

func (o *installOptions) withCertificates(config *operatorsv1alpha1.SubscriptionConfig) *operatorsv1alpha1.SubscriptionConfig {
	chosen := map[string]string{wellknown.AnnotationCertificateProvider: o.certificates, wellknown.AnnotationCertManagerIssuer: o.issuer}
	for annotation, value := range chosen {
		if value == "" {
			continue
		}
		if config == nil {
			config = &operatorsv1alpha1.SubscriptionConfig{}
		}
		if config.Annotations == nil {
			config.Annotations = map[string]string{}
		}
		config.Annotations[annotation] = value
	}
	return config
}

// checkCertificates reads the resulting config as the manager does: of flags, of a file, and what stays.
func checkCertificates(result []*unstructured.Unstructured) error {
	for _, o := range result {
		annotations, _, _ := unstructured.NestedStringMap(o.Object, "spec", "config", "annotations")
		if _, err := issuers.ChoiceOf(annotations); groupkind.Is(o, groupkind.Subscription) && err != nil {
			return fmt.Errorf("the config of the Subscription: annotation %w", err)
		}
	}
	return nil
}

// adopt asks about each object of another client that the plan would overwrite. --adopt answers, and --yes does not.
func (o *installOptions) adopt(cmd *cobra.Command, plan *installer.Plan) error {
	if err := deploy.CheckAdoptions(plan.Adopted, plan.Objects(), deploy.Replaced(plan.CSV())); err != nil {
		return err
	}
	if o.yes {
		return o.checkAdopted(cmd, *plan)
	}
	for _, s := range deploy.Unadopted(plan.Steps(), plan.Adopted) {
		out := o.output.Messages(cmd)
		out.Printf("warning: %s\n", s.Describe())
		if err := terminal.ConfirmBy(cmd, out, false, "--adopt "+deploy.Reference(s.Object), "Overwrite "+deploy.Title(s.Object)+"?"); err != nil {
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
