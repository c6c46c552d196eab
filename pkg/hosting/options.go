package hosting

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
	electionoptions "k8s.io/component-base/config/options"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
)

// options are the values of the flags.
type options struct {
	process       string
	kubeconfig    string
	controllers   []string
	webhooks      []string
	features      featuregate.MutableFeatureGate
	serving       *genericoptions.SecureServingOptions
	healthAddress string
	drainPeriod   time.Duration
	drainTimeout  time.Duration
	maxRequests   int
	maxBodyMemory resource.QuantityValue
	callers       callerOptions
	registration  registrationOptions
	election      componentbaseconfig.LeaderElectionConfiguration
}

func newOptions(name string) (*options, error) {
	features, err := newFeatureGate()
	if err != nil {
		return nil, err
	}
	o := &options{
		process:       name,
		controllers:   []string{"*"},
		features:      features,
		serving:       genericoptions.NewSecureServingOptions(),
		healthAddress: ":8081",
		drainPeriod:   10 * time.Second,
		drainTimeout:  10 * time.Second,
		maxRequests:   defaultMaxRequests,
		maxBodyMemory: resource.QuantityValue{Quantity: *resource.NewQuantity(defaultMaxBodyMemory, resource.BinarySI)},
		callers:       newCallerOptions(),
		election:      newElectionOptions(name),
	}
	o.serving.BindPort = 9443
	o.serving.Required = true
	o.serving.ServerCert.CertDirectory = "/tmp/k8s-webhook-server/serving-certs"
	o.serving.ServerCert.PairName = "tls"
	return o, nil
}

// flags are those that make sense for what is registered.
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
		o.addLoadFlags(sets.FlagSet("serving"))
		o.callers.addFlags(sets.FlagSet("callers"))
		o.registration.addFlags(sets.FlagSet("registration"))
	}
	return sets
}

func (o *options) addDrainFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.drainPeriod, "drain-period", o.drainPeriod,
		"After SIGTERM, how long to go on serving while the cluster learns that this process is not ready any more. It is up to three quarters longer while calls still come.")
	fs.DurationVar(&o.drainTimeout, "drain-timeout", o.drainTimeout,
		"After that, how long to wait for the calls under way. The pod's terminationGracePeriodSeconds should be more than this and one and three quarters of the drain period.")
}

func (o *options) addLoadFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.maxRequests, "max-requests-inflight", o.maxRequests,
		"How many calls may be in progress at once; more are answered with 429. A call is in progress until its handler returns, also after its caller has hung up.")
	fs.Var(&o.maxBodyMemory, "max-body-memory",
		"How much memory the bodies of all calls in progress may hold; a body that needs more is answered with 429. The first 64 KiB of each body are not counted. It is at least the largest MaxBodyBytes of the webhooks.")
}

func selectionUsage(what string, names []string) string {
	return fmt.Sprintf("The %s to run, of %s: * for all, NAME for one, -NAME for all but one.", what, quoted(names))
}

// addLogFlags adds the few of klog's flags that are not deprecated.
func addLogFlags(fs *pflag.FlagSet) {
	var all flag.FlagSet
	klog.InitFlags(&all)
	for _, name := range []string{"v", "vmodule"} {
		fs.AddGoFlag(all.Lookup(name))
	}
}

// complete resolves what depends on other flags, and says what does not fit together.
func (o *options) complete() error {
	// With these set, the apiserver's own reader of certificates would want the files to
	// be there at the start.
	cert := &o.serving.ServerCert
	if cert.CertKey.CertFile == "" {
		cert.CertKey.CertFile = filepath.Join(cert.CertDirectory, cert.PairName+".crt")
	}
	if cert.CertKey.KeyFile == "" {
		cert.CertKey.KeyFile = filepath.Join(cert.CertDirectory, cert.PairName+".key")
	}
	mistakes := o.serving.Validate()
	if o.drainPeriod < 0 || o.drainTimeout < 0 {
		mistakes = append(mistakes, fmt.Errorf("--drain-period=%s and --drain-timeout=%s must not be negative", o.drainPeriod, o.drainTimeout))
	}
	if o.maxRequests < 1 || o.maxBodyMemory.Sign() < 0 {
		mistakes = append(mistakes, fmt.Errorf("--max-requests-inflight=%d must be positive and --max-body-memory=%s must not be negative", o.maxRequests, &o.maxBodyMemory))
	}
	mistakes = append(mistakes, o.callers.complete(o.kubeconfig), o.registration.complete(o.process))
	return errors.Join(mistakes...)
}
