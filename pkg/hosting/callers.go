package hosting

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// callerOptions say who may call. Unless asked, everybody may: an API server presents no
// credentials to webhooks unless its administrator configures some.
type callerOptions struct {
	authenticate   bool
	authorize      bool
	authentication *genericoptions.DelegatingAuthenticationOptions
	authorization  *genericoptions.DelegatingAuthorizationOptions
}

func newCallerOptions() callerOptions {
	o := callerOptions{
		authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
	}
	// With a client CA in a file nothing has to be looked up.
	o.authentication.RemoteKubeConfigFileOptional = true
	o.authorization.AlwaysAllowPaths = probePaths
	return o
}

func (o *callerOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.authenticate, "authenticate-callers", false,
		"Answer only callers who are who they say: by a certificate of the client CA, or by a token that a TokenReview accepts.")
	fs.BoolVar(&o.authorize, "authorize-callers", false,
		"Answer only callers who, by a SubjectAccessReview, may post to the webhook's path. Implies --authenticate-callers.")
	o.authentication.AddFlags(fs)
	o.authorization.AddFlags(fs)
}

func (o *callerOptions) complete(kubeconfig string) error {
	o.authenticate = o.authenticate || o.authorize
	if o.authentication.RemoteKubeConfigFile == "" {
		o.authentication.RemoteKubeConfigFile = kubeconfig
	}
	if o.authorization.RemoteKubeConfigFile == "" {
		o.authorization.RemoteKubeConfigFile = kubeconfig
	}
	return errors.Join(append(o.authentication.Validate(), o.authorization.Validate()...)...)
}

// guard puts authentication and authorization before the handler, as far as asked for. Each may ask the API server,
// so the requests that are asked about are bounded.
func (o *callerOptions) guard(handler http.Handler, serving *server.SecureServingInfo, l *load) (http.Handler, error) {
	if !o.authenticate {
		return handler, nil
	}
	var authentication server.AuthenticationInfo
	if err := o.authentication.ApplyTo(&authentication, serving, nil); err != nil {
		return nil, err
	}
	authorization := server.AuthorizationInfo{Authorizer: authorizer.AuthorizerFunc(notAnonymous)}
	if o.authorize {
		if err := o.authorization.ApplyTo(&authorization); err != nil {
			return nil, err
		}
	}
	codecs := statusCodecs()
	handler = genericfilters.WithAuthorization(handler, authorization.Authorizer, codecs)
	handler = genericfilters.WithAuthentication(handler, authentication.Authenticator,
		genericfilters.Unauthorized(codecs), authentication.APIAudiences, authentication.RequestHeaderConfig)
	handler = genericfilters.WithRequestInfo(handler, &request.RequestInfoFactory{APIPrefixes: sets.NewString()})
	return l.bounded(handler), nil
}

// notAnonymous has every known caller pass, and probes.
func notAnonymous(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(probePaths, a.GetPath()) || slices.Contains(a.GetUser().GetGroups(), user.AllAuthenticated) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, "only authenticated callers are answered", nil
}

// statusCodecs encode what a refused caller is told.
func statusCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return serializer.NewCodecFactory(scheme)
}
