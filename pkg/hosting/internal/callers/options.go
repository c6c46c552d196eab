// Package callers authenticates and authorizes callers of webhooks by the mechanisms of Kubernetes, with those parts of
// k8s.io/apiserver that do not need the generic API server.
package callers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// Options are the flags that configure who may call. The default is any caller: an API server sends
// no credentials to webhooks unless its administrator configures them.
type Options struct {
	authenticate   bool
	authorize      bool
	authentication authenticationOptions
	authorization  authorizationOptions
}

type authenticationOptions struct {
	kubeconfig            string
	tokenTTL              time.Duration
	clientCAFile          string
	requestHeader         requestHeaderOptions
	skipLookup            bool
	tolerateLookupFailure bool
}

type requestHeaderOptions struct {
	clientCAFile                                           string
	usernames, uids, groups, extraPrefixes, allowedClients []string
}

type authorizationOptions struct {
	kubeconfig      string
	allowedPaths    []string
	authorizedTTL   time.Duration
	unauthorizedTTL time.Duration
}

// NewOptions returns Options with their defaults. Paths in allowedPaths need no authorization.
func NewOptions(allowedPaths []string) *Options {
	const ttl = 10 * time.Second
	return &Options{
		authentication: authenticationOptions{
			tokenTTL: ttl,
			requestHeader: requestHeaderOptions{
				usernames:     []string{"x-remote-user"},
				groups:        []string{"x-remote-group"},
				extraPrefixes: []string{"x-remote-extra-"},
			},
		},
		authorization: authorizationOptions{allowedPaths: allowedPaths, authorizedTTL: ttl, unauthorizedTTL: ttl},
	}
}

// AddFlags adds the flags, which have the names and defaults of API servers.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.authenticate, "authenticate-callers", o.authenticate,
		"Answer only authenticated callers: those with a certificate of the client CA, or with a token that a TokenReview accepts.")
	fs.BoolVar(&o.authorize, "authorize-callers", o.authorize,
		"Answer only callers that may post to the webhook's path according to a SubjectAccessReview. Implies --authenticate-callers.")
	o.authentication.addFlags(fs)
	o.authorization.addFlags(fs)
}

func (o *authenticationOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "authentication-kubeconfig", o.kubeconfig,
		"Kubeconfig for TokenReviews and for looking up the client CA (default: --kubeconfig, else the pod's service account). Without one, tokens are ignored and nothing is looked up.")
	fs.DurationVar(&o.tokenTTL, "authentication-token-webhook-cache-ttl", o.tokenTTL, "How long the result of a TokenReview is cached.")
	fs.StringVar(&o.clientCAFile, "client-ca-file", o.clientCAFile,
		"File of the CAs whose client certificates authenticate callers, by CommonName (default: the CA that the cluster publishes).")
	fs.BoolVar(&o.skipLookup, "authentication-skip-lookup", o.skipLookup, "Do not look up the CAs that the cluster publishes.")
	fs.BoolVar(&o.tolerateLookupFailure, "authentication-tolerate-lookup-failure", o.tolerateLookupFailure,
		"Start even if the CAs that the cluster publishes cannot be looked up. All callers may then be anonymous.")
	h := &o.requestHeader
	fs.StringVar(&h.clientCAFile, "requestheader-client-ca-file", h.clientCAFile,
		"File of the CAs whose client certificates authenticate front proxies, which name the caller in headers (default: the CA that the cluster publishes).")
	fs.StringSliceVar(&h.allowedClients, "requestheader-allowed-names", h.allowedClients,
		"CommonNames of front proxies. If empty, any certificate of --requestheader-client-ca-file is accepted.")
	fs.StringSliceVar(&h.usernames, "requestheader-username-headers", h.usernames, "Headers with the user name.")
	fs.StringSliceVar(&h.uids, "requestheader-uid-headers", h.uids, "Headers with the UID of the user. X-Remote-Uid is usual.")
	fs.StringSliceVar(&h.groups, "requestheader-group-headers", h.groups, "Headers with the groups of the user.")
	fs.StringSliceVar(&h.extraPrefixes, "requestheader-extra-headers-prefix", h.extraPrefixes, "Prefixes of headers with other attributes of the user.")
}

func (o *authorizationOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "authorization-kubeconfig", o.kubeconfig,
		"Kubeconfig for SubjectAccessReviews (default: --kubeconfig, else the pod's service account).")
	fs.StringSliceVar(&o.allowedPaths, "authorization-always-allow-paths", o.allowedPaths, "Paths that need no authorization.")
	fs.DurationVar(&o.authorizedTTL, "authorization-webhook-cache-authorized-ttl", o.authorizedTTL,
		"How long the SubjectAccessReview of an allowed caller is cached.")
	fs.DurationVar(&o.unauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", o.unauthorizedTTL,
		"How long the SubjectAccessReview of a denied caller is cached.")
}

// Complete checks the flags. The kubeconfig is the default of the other kubeconfigs.
func (o *Options) Complete(kubeconfig string) error {
	o.authenticate = o.authenticate || o.authorize
	o.authentication.kubeconfig = cmp.Or(o.authentication.kubeconfig, kubeconfig)
	o.authorization.kubeconfig = cmp.Or(o.authorization.kubeconfig, kubeconfig)
	return o.authentication.requestHeader.check()
}

func (h *requestHeaderOptions) check() error {
	var errs []error
	for _, list := range []struct {
		flag, standard string
		values         []string
	}{
		{"requestheader-username-headers", "X-Remote-User", h.usernames},
		{"requestheader-uid-headers", "X-Remote-Uid", h.uids},
		{"requestheader-group-headers", "X-Remote-Group", h.groups},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-", h.extraPrefixes},
		{"requestheader-allowed-names", "", h.allowedClients},
	} {
		standard := func(v string) bool { return strings.EqualFold(v, list.standard) }
		switch {
		case slices.ContainsFunc(list.values, func(v string) bool { return strings.TrimSpace(v) == "" }):
			errs = append(errs, fmt.Errorf("--%s has an empty value", list.flag))
		case list.standard == "" || len(list.values) == 0 || slices.ContainsFunc(list.values, standard):
		case list.standard == "X-Remote-Uid": // API servers are as strict
			errs = append(errs, fmt.Errorf("--%s lacks %s, which API servers send", list.flag, list.standard))
		default:
			klog.InfoS("A flag lacks the header that API servers send", "flag", list.flag, "header", list.standard)
		}
	}
	return errors.Join(errs...)
}

// newClient uses the pod's service account without a kubeconfig. Outside a pod, it returns nil without an error.
func newClient(kubeconfig string, timeout time.Duration) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, err
		}
	}
	if err != nil {
		if !errors.Is(err, rest.ErrNotInCluster) {
			klog.ErrorS(err, "Cannot read the pod's service account, callers are checked without the API server")
		}
		return nil, nil
	}
	// Calls wait for these requests: the rate must not limit the rate of calls.
	config.QPS, config.Burst, config.Timeout = 200, 400, timeout
	return kubernetes.NewForConfig(config)
}
