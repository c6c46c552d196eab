package hosting

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
	electionoptions "k8s.io/component-base/config/options"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/callers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/election"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

type options struct {
	process       string
	kubeconfig    string
	controllers   []string
	webhooks      []string
	features      featuregate.MutableFeatureGate
	serving       *serving.Options
	healthAddress string
	drainPeriod   time.Duration
	drainTimeout  time.Duration
	maxRequests   int
	maxBodyMemory resource.QuantityValue
	callers       *callers.Options
	registration  registration.Options
	election      componentbaseconfig.LeaderElectionConfiguration
}

func newOptions(name string) *options {
	return &options{
		process:       name,
		controllers:   []string{"*"},
		features:      newFeatureGate(),
		serving:       serving.NewOptions(),
		healthAddress: ":8081",
		drainPeriod:   10 * time.Second,
		drainTimeout:  10 * time.Second,
		maxRequests:   limits.DefaultMaxRequests,
		maxBodyMemory: resource.QuantityValue{Quantity: *resource.NewQuantity(limits.DefaultMaxBodyMemory, resource.BinarySI)},
		callers:       callers.NewOptions(serving.ProbePaths),
		election:      election.NewOptions(name),
	}
}

func (o *options) flags(b *Builder) *cliflag.NamedFlagSets {
	sets := &cliflag.NamedFlagSets{}
	if b.flags.HasFlags() {
		sets.FlagSet(b.name).AddFlagSet(b.flags)
	}
	general := sets.FlagSet("general")
	general.StringVar(&o.kubeconfig, "kubeconfig", "", "Path of a kubeconfig (default: $KUBECONFIG, else the pod's service account).")
	general.StringVar(&o.healthAddress, "health-bind-address", o.healthAddress,
		"Address of /healthz, /readyz and /metrics over plain HTTP; none if empty.")
	o.features.AddFlag(general)
	addLogFlags(sets.FlagSet("log"))
	if len(b.controllers) > 0 && len(b.webhooks) > 0 {
		general.StringSliceVar(&o.controllers, "controllers", o.controllers, selectionUsage("controllers", b.controllerNames()))
		general.StringSliceVar(&o.webhooks, "webhooks", o.webhooks, selectionUsage("webhooks", b.webhookNames()))
	}
	if len(b.controllers) > 0 {
		electionoptions.BindLeaderElectionFlags(&o.election, sets.FlagSet("leader election"))
	}
	if len(b.webhooks) > 0 {
		o.serving.AddFlags(sets.FlagSet("serving"))
		o.addDrainFlags(sets.FlagSet("serving"))
		o.addLimitFlags(sets.FlagSet("serving"))
		o.callers.AddFlags(sets.FlagSet("callers"))
		o.registration.AddFlags(sets.FlagSet("registration"))
	}
	return sets
}

func (o *options) addDrainFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.drainPeriod, "drain-period", o.drainPeriod,
		"How long webhooks are served after SIGTERM, until all clients know that the process is not ready. It is up to three quarters longer while calls still come.")
	fs.DurationVar(&o.drainTimeout, "drain-timeout", o.drainTimeout,
		"How long the process then waits for calls in progress. The pod's terminationGracePeriodSeconds should be more than this timeout and one and three quarters of the drain period.")
}

func (o *options) addLimitFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.maxRequests, "max-requests-inflight", o.maxRequests,
		"Maximum number of calls in progress; further calls are answered with 429. A call is in progress until its handler returns, even if its caller has closed the connection.")
	fs.Var(&o.maxBodyMemory, "max-body-memory",
		"Maximum memory of the bodies of all calls in progress; a body that needs more is answered with 429. The first 64 KiB of each body are not counted. The minimum is the largest MaxBodyBytes of the webhooks.")
}

func selectionUsage(what string, names []string) string {
	return fmt.Sprintf("The %s to run, of %s: * for all, NAME for one, -NAME to exclude one.", what, quote.List(names))
}

// addLogFlags adds the flags of klog that are not deprecated.
func addLogFlags(fs *pflag.FlagSet) {
	var all flag.FlagSet
	klog.InitFlags(&all)
	for _, name := range []string{"v", "vmodule"} {
		fs.AddGoFlag(all.Lookup(name))
	}
}

func (o *options) complete() error {
	errs := []error{o.serving.Complete()}
	if o.drainPeriod < 0 || o.drainTimeout < 0 {
		errs = append(errs, fmt.Errorf("--drain-period=%s and --drain-timeout=%s must not be negative", o.drainPeriod, o.drainTimeout))
	}
	if o.maxRequests < 1 || o.maxBodyMemory.Sign() < 0 {
		errs = append(errs, fmt.Errorf("--max-requests-inflight=%d must be positive and --max-body-memory=%s must not be negative", o.maxRequests, &o.maxBodyMemory))
	}
	return errors.Join(append(errs, o.callers.Complete(o.kubeconfig), o.registration.Complete(o.process))...)
}

// selectNames selects all names for "*", all except x for "-x", and x for "x" regardless of other values.
func selectNames(flag string, selectors, known []string) ([]string, error) {
	for _, s := range selectors {
		if s != "*" && !slices.Contains(known, s) && !(len(s) > 0 && s[0] == '-' && slices.Contains(known, s[1:])) {
			return nil, fmt.Errorf("--%s: unknown name %q: use %s, with a - before the name to exclude it, or * for all", flag, s, quote.List(known))
		}
	}
	var names []string
	all := slices.Contains(selectors, "*")
	for _, name := range known {
		if slices.Contains(selectors, name) || all && !slices.Contains(selectors, "-"+name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// CloudWebhookServer is the feature gate of KEP-2699. Its stage is the maturity of this package. An
// administrator can disable serving:
//
//	--feature-gates=CloudWebhookServer=false
const CloudWebhookServer featuregate.Feature = "CloudWebhookServer"

// newFeatureGate returns a gate with the feature enabled: an author registers webhooks to serve them.
func newFeatureGate() featuregate.MutableFeatureGate {
	gate := featuregate.NewFeatureGate()
	utilruntime.Must(gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		CloudWebhookServer: {Default: true, PreRelease: featuregate.Beta},
	}))
	return gate
}
