package apiserver

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

var resolver = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// filtered has kube-apiserver's filters around the handlers: warnings, impersonation, authorization.
func filtered(next http.Handler) http.Handler {
	next = filters.WithAuthorization(next, authority{}, legacyscheme.Codecs)
	next = impersonation.WithImpersonation(next, authority{}, legacyscheme.Codecs)
	return filters.WithWarningRecorder(next)
}

// builtInHandler has no state, as handlers.
var builtInHandler = filtered(handlers.handler)

// handler returns the handler of a request.
func (s *Server) handler(info *request.RequestInfo) http.Handler {
	if !info.IsResourceRequest {
		return filtered(http.HandlerFunc(s.serveDiscovery))
	}
	if info.APIPrefix == "api" || handlers.has(info.APIGroup) {
		return builtInHandler
	}
	return filtered(s.definitions)
}

// effectiveUser returns the name of the user for whom a request is.
func effectiveUser(authenticated user.Info, r *http.Request) string {
	if name := r.Header.Get("Impersonate-User"); name != "" {
		return name
	}
	return authenticated.GetName()
}
