// Package manager has the commands that run and remove the manager.
package manager

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

type runOptions struct {
	controller controller.Options
	election   electionOptions
	gate       string
	probe      string
	kubeconfig string
	serving    servingOptions
	logFormat  string
	logLevel   string
}

// NewRunCommand returns the command run.
func NewRunCommand() *cobra.Command {
	o := runOptions{controller: controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 32}}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the manager",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.controller.Namespaces, coexistence.NamespacesFlag, nil, "look after the ClusterServiceVersions of these namespaces only (default: all)")
	f.StringVar(&o.gate, "registration-gate", string(rollout.GateServing), "register a webhook when its endpoints answer with a trusted certificate, and a review at its path (serving), or when its Deployment is available (available)")
	f.StringVar(&o.probe, "probe", string(prober.ModeDial), "who finds out whether endpoints serve: the manager, and the API server where the manager cannot dial any of them (dial), or always the API server (apiserver)")
	f.DurationVar(&o.controller.Rollout.Settle, "settle", o.controller.Rollout.Settle, "time that API servers may take to learn of a registration")
	addCertificateFlags(f, &o.controller.Certificates)
	f.BoolVar(&o.controller.LiftRoles, "lift-roles", false, "grant what a bundle's permissions ask for, and its Roles grant in its own namespace, wherever its OperatorGroup targets (apply manifests/lift-roles)")
	f.IntVar(&o.controller.Workers, "workers", o.controller.Workers, "objects to look at side by side")
	f.StringVar(&o.election.namespace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"), "namespace of the leader election Lease (default: $POD_NAMESPACE); without one there is no election")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of a kubeconfig (default: $KUBECONFIG, else the pod's service account)")
	o.serving.add(f)
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warning or error")
	return cmd
}

// run is the life of the manager: connect, refuse to share a cluster with OLM v0,
// fill the caches, wait to be the leader, work, and give up the lead.
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
	if err := coexistence.RefuseBesideOLM(ctx, clients.Kube, o.controller.Namespaces); err != nil {
		return err
	}

	registry := prometheus.NewRegistry()
	events, stopEvents := newRecorder(clients.Kube)
	defer stopEvents()
	c, err := controller.New(clients, events, metrics.New(registry), logrus.NewEntry(log), o.controller)
	if err != nil {
		return err
	}
	elector, err := newElector(clients.Kube, o.election, log, c.Run)
	if err != nil {
		return err
	}
	stopHealth, err := o.serving.serveHealth(c.Synced, elector, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	defer stopHealth()
	stopMetrics, err := o.serving.serveMetrics(gatherers(registry), clients.Kube, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	defer stopMetrics()

	log.WithField("version", buildinfo.Version()).Info("starting")
	go collectGarbage(ctx)
	if err := c.Fill(ctx); err != nil {
		return err
	}
	return elector.run(ctx)
}

func (o *runOptions) check(log *logrus.Logger) (err error) {
	if o.controller.Rollout.Gate, err = parseGate(o.gate); err != nil {
		return err
	}
	if o.controller.Probe, err = parseProbe(o.probe); err != nil {
		return err
	}
	if err := o.controller.Certificates.Validate(); err != nil {
		return fmt.Errorf("serving certificates: %w", err)
	}
	if warning := o.controller.Certificates.Warning(); warning != "" {
		log.Warn(warning)
	}
	return o.serving.check()
}

func parseGate(gate string) (rollout.Gate, error) {
	switch g := rollout.Gate(gate); g {
	case rollout.GateServing, rollout.GateAvailable:
		return g, nil
	default:
		return "", fmt.Errorf("--registration-gate=%s: use %s or %s", gate, rollout.GateServing, rollout.GateAvailable)
	}
}

func parseProbe(mode string) (prober.Mode, error) {
	switch m := prober.Mode(mode); m {
	case prober.ModeDial, prober.ModeAPIServer:
		return m, nil
	default:
		return "", fmt.Errorf("--probe=%s: use %s or %s", mode, prober.ModeDial, prober.ModeAPIServer)
	}
}

// clientConfig has no throttle of its own: the API server's priority and fairness
// knows better, and a client that waits in line makes every webhook late.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to work with: %w", err)
	}
	config.UserAgent = "olm-webhook-manager/" + buildinfo.Version()
	config.QPS = -1
	return config, nil
}

func newLogger(format, level string) (*logrus.Logger, error) {
	log := logrus.New()
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
