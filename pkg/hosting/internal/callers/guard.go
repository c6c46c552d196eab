package callers

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
)

// Guard is a handler that authenticates and authorizes callers.
type Guard struct {
	next           http.Handler
	authentication *authentication
	authorizer     authorizer.Authorizer
	metrics        *metrics
}

// NewGuard returns a Guard before next, or nil if any caller may call. openPaths need no authentication.
func (o *Options) NewGuard(next http.Handler, openPaths []string, registry *prometheus.Registry) (*Guard, error) {
	if !o.authenticate {
		return nil, nil
	}
	g := &Guard{next: next, metrics: newMetrics(registry), authorizer: allowAuthenticated(openPaths)}
	var err error
	if g.authentication, err = o.authentication.newAuthentication(g.metrics); err != nil {
		return nil, err
	}
	if o.authorize {
		g.authorizer, err = o.authorization.newAuthorizer(g.metrics)
	}
	return g, err
}

// ClientCA returns the CAs of certificates that callers may present, or nil if there are none.
func (g *Guard) ClientCA() dynamiccertificates.CAContentProvider {
	if len(g.authentication.clientCAs) == 0 {
		return nil
	}
	return dynamiccertificates.NewUnionCAContentProvider(g.authentication.clientCAs...)
}

// Run keeps what was looked up current until ctx ends, except for the CAs: the user of ClientCA does that.
func (g *Guard) Run(ctx context.Context) {
	for _, run := range g.authentication.run {
		go run(ctx)
	}
}

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	response, ok, err := g.authentication.authenticator.AuthenticateRequest(r)
	g.metrics.authentications.observe(authenticationResult(ok, err), began)
	if err != nil {
		klog.ErrorS(err, "Cannot authenticate a caller")
	}
	if err != nil || !ok {
		endHTTP2(w, r)
		httperror.Write(w, r, httperror.New(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"))
		return
	}
	if slices.Contains(response.User.GetGroups(), user.AllUnauthenticated) {
		endHTTP2(w, r)
	}
	attributes := authorizer.AttributesRecord{User: response.User, Verb: strings.ToLower(r.Method), Path: r.URL.Path}
	began = time.Now()
	decision, reason, err := g.authorizer.Authorize(r.Context(), attributes)
	g.metrics.authorizations.observe(authorizationResult(decision, err), began)
	switch {
	case decision == authorizer.DecisionAllow:
		g.next.ServeHTTP(w, r)
	case err != nil:
		klog.ErrorS(err, "Cannot authorize a caller", "user", attributes.User.GetName(), "path", attributes.Path)
		httperror.Write(w, r, httperror.Internal(err))
	default:
		httperror.Write(w, r, forbidden(attributes, reason))
	}
}

// endHTTP2 ends an HTTP/2 connection after this request: an unauthenticated caller could open many streams.
func endHTTP2(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		w.Header().Set("Connection", "close")
	}
}

func forbidden(a authorizer.Attributes, reason string) error {
	if reason != "" {
		reason = ": " + reason
	}
	return httperror.New(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: User %q cannot %s path %q%s",
		a.GetUser().GetName(), a.GetVerb(), a.GetPath(), reason)
}

func authenticationResult(ok bool, err error) string {
	switch {
	case err != nil:
		return "error"
	case !ok:
		return "failure"
	default:
		return "success"
	}
}

func authorizationResult(decision authorizer.Decision, err error) string {
	switch {
	case decision == authorizer.DecisionAllow:
		return "allowed"
	case err != nil:
		return "error"
	case decision == authorizer.DecisionDeny:
		return "denied"
	default:
		return "no-opinion"
	}
}
