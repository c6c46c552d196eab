// Package manager has the commands that run and remove the manager.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // workqueue_*, rest_client_*, leader_election_*

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

type runOptions struct {
	controller controller.Options
	withOLM    bool
	protected  []string // namespaces that keep copies
	election   string   // the namespace of the Lease
	gate       string
	probe      string
	kubeconfig string
	serving    servingOptions
	logFormat  string
	logLevel   string
}

const metricsIntervalFlag = "api-server-metrics-interval"

// NewRunCommand returns the command run.
func NewRunCommand() *cobra.Command {
	o := runOptions{controller: controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), APIServerMetricsInterval: 15 * time.Second, Workers: 32}}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the manager",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.controller.Namespaces, coexistence.NamespacesFlag, nil, "manage only the ClusterServiceVersions in these namespaces (default: all)")
	f.StringVar(&o.gate, "registration-gate", string(rollout.GateServing), "when a webhook is registered: when its endpoints serve a trusted certificate and answer a review at its path (serving), or when its Deployment is available (available)")
	f.StringVar(&o.probe, "probe", string(prober.ModeDial), "how endpoints are checked: by the manager, or by the API server if the manager cannot dial any of them (dial); always by the API server (apiserver)")
	f.DurationVar(&o.controller.Rollout.Settle, "settle", o.controller.Rollout.Settle, "time within which every API server observes a registration")
	addCertificateFlags(f, &o.controller.Certificates)
	f.DurationVar(&o.controller.APIServerMetricsInterval, metricsIntervalFlag, o.controller.APIServerMetricsInterval, "how often the metrics of each API server are read while a webhook is registered, to report calls that fail; at least 1s, 0: never")
	f.BoolVar(&o.controller.LiftRoles, "lift-roles", false, "grant the permissions of a ClusterServiceVersion and the rules of its bundle's Roles in all target namespaces of its OperatorGroup (apply manifests/lift-roles)")
	f.BoolVar(&o.withOLM, "with-olm", false, "do everything that OLM's catalogs, consoles and users expect of olm-operator, which must not run; lifts the Roles that InstallPlans list (apply manifests/with-olm)")
	addProxyFlags(f, &o.controller.Proxy)
	f.StringSliceVar(&o.protected, "protected-copied-csv-namespaces", []string{"openshift"}, "namespaces that keep the copies of operators of all namespaces although OLMConfig disables copies (with --with-olm)")
	f.IntVar(&o.controller.Workers, "workers", o.controller.Workers, "number of objects that are reconciled concurrently")
	f.StringVar(&o.election, "leader-election-namespace", os.Getenv("POD_NAMESPACE"), "namespace of the leader election Lease (default: $POD_NAMESPACE); empty: no leader election")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default: $KUBECONFIG, else the pod's service account)")
	o.serving.add(f)
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warning or error")
	return cmd
}

func addCertificateFlags(f *pflag.FlagSet, p *certs.Policy) {
	f.DurationVar(&p.Validity, "certificate-validity", p.Validity, "how long a serving certificate is valid")
	f.DurationVar(&p.RenewBefore, "certificate-renew-before", p.RenewBefore, "how long before its expiry a serving certificate is renewed; 0: a third of its validity")
	f.DurationVar(&p.ClockSkew, "certificate-clock-skew", p.ClockSkew, "the maximum difference between the clocks of the manager and of API servers and nodes")
	f.Var(keyTypeFlag{&p.Key}, "certificate-key", "type of the private keys: ECDSA-P256, ECDSA-P384, RSA-3072, or Ed25519, which FIPS builds may refuse")
	f.DurationVar(&p.Settle, "certificate-settle", p.Settle, "time within which every API server observes a new CA; pods serve certificates of the CA after that")
	f.DurationVar(&p.Grace, "certificate-reload-grace", p.Grace, "time within which pods load a mounted certificate; pods that do not are restarted one by one")
	f.IntVar(&p.Parallel, "certificate-rotations", p.Parallel, "number of serving certificates that are renewed at the same time")
}

func addProxyFlags(f *pflag.FlagSet, p *subscriptions.Proxy) {
	f.StringVar(&p.HTTP, "operator-http-proxy", "", "with --with-olm: variable HTTP_PROXY of the pods of operators, unless the cluster has OpenShift's Proxy object or the Subscription of the operator sets a proxy")
	f.StringVar(&p.HTTPS, "operator-https-proxy", "", "the same for HTTPS_PROXY")
	f.StringVar(&p.NoProxy, "operator-no-proxy", "", "the same for NO_PROXY: hosts and networks without a proxy, separated by commas")
}

type keyTypeFlag struct{ kind *certs.KeyType }

func (k keyTypeFlag) String() string {
	if k.kind == nil {
		return ""
	}
	return string(*k.kind)
}

func (k keyTypeFlag) Set(text string) (err error) {
	*k.kind, err = certs.ParseKeyType(text)
	return err
}

func (keyTypeFlag) Type() string { return "kind" }

func run(ctx context.Context, o runOptions) error {
	log, err := newLogger(o.logFormat, o.logLevel)
	if err != nil {
		return err
	}
	if err := o.check(log); err != nil {
		return err
	}
	config, err := clientConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	clients, err := clients.New(config)
	if err != nil {
		return err
	}
	if err := coexistence.RefuseOLM(ctx, clients.Kube, o.controller.Namespaces); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	events, stopEvents := newRecorder(clients.Kube)
	defer stopEvents()
	c, err := controller.New(clients, events, metrics.New(registry), logrus.NewEntry(log), o.controller)
	if err != nil {
		return err
	}
	all, err := allControllers(o, clients, c, registry, events, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	elector, err := newElector(clients.Kube, o.election, log, all.Run)
	if err != nil {
		return err
	}
	stopHealth, err := o.serving.serveHealth(c.Synced, elector, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	defer stopHealth()
	stopMetrics, err := o.serving.serveMetrics(prometheus.Gatherers{registry, legacyregistry.DefaultGatherer}, clients.Kube, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	defer stopMetrics()
	log.WithField("version", buildinfo.Version()).Info("starting")
	go collectGarbage(ctx)
	if err := all.Fill(ctx); err != nil {
		return err
	}
	return elector.run(ctx)
}

func (o *runOptions) check(log *logrus.Logger) (err error) {
	if o.withOLM && len(o.controller.Namespaces) > 0 {
		return fmt.Errorf("--with-olm takes the place of an olm-operator of all namespaces: leave out --%s", coexistence.NamespacesFlag)
	}
	o.controller.LiftRoles, o.controller.WithOLM = o.controller.LiftRoles || o.withOLM, o.withOLM
	if !o.withOLM && o.controller.Proxy != (subscriptions.Proxy{}) {
		return errors.New("--operator-http-proxy, --operator-https-proxy and --operator-no-proxy have no effect without --with-olm: add --with-olm, or remove these flags")
	}
	o.controller.Rollout.Gate, err = oneOf("registration-gate", o.gate, rollout.GateServing, rollout.GateAvailable)
	if err != nil {
		return err
	}
	if o.controller.Probe, err = oneOf("probe", o.probe, prober.ModeDial, prober.ModeAPIServer); err != nil {
		return err
	}
	if interval := o.controller.APIServerMetricsInterval; interval != 0 && interval < time.Second {
		return fmt.Errorf("--%s=%s: use at least 1s, or 0", metricsIntervalFlag, interval)
	}
	if err := o.controller.Certificates.Validate(); err != nil {
		return fmt.Errorf("serving certificates: %w", err)
	}
	if warning := o.controller.Certificates.Warning(); warning != "" {
		log.WithField("cause", warning).Warn("the policy for serving certificates is dangerous")
	}
	return o.serving.check()
}

func oneOf[T ~string](flag, value string, first, second T) (T, error) {
	if v := T(value); v == first || v == second {
		return v, nil
	}
	return "", fmt.Errorf("--%s=%s: use %s or %s", flag, value, first, second)
}

// clientConfig has no client-side rate limit: it would delay every webhook. API servers have priority and fairness.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig() //nolint:forbidigo // Requests of the manager have limits of their own.
	if err != nil {
		return nil, fmt.Errorf("no cluster to work with: %w", err)
	}
	config.UserAgent = "olm-webhook-manager/" + buildinfo.Version()
	config.QPS = -1
	return config, nil
}

func newLogger(format, level string) (*logrus.Logger, error) {
	log := logrus.New() //nolint:forbidigo // The log of the manager is no output of a command.
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("--log-level=%s: use debug, info, warning or error", level)
	}
	log.SetLevel(parsed)
	switch format {
	case "text":
		log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true})
	case "json":
		log.SetFormatter(&logrus.JSONFormatter{})
	default:
		return nil, fmt.Errorf("--log-format=%s: use text or json", format)
	}
	return log, nil
}
