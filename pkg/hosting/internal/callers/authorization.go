package callers

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/klog/v2"
)

func (o *authorizationOptions) newAuthorizer(m *metrics) (authorizer.Authorizer, error) {
	client, err := newClient(o.kubeconfig, reviewTimeout)
	if err != nil {
		return nil, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	paths, err := path.NewAuthorizer(o.allowedPaths)
	if err != nil {
		return nil, fmt.Errorf("--authorization-always-allow-paths: %w", err)
	}
	authorizers := []authorizer.Authorizer{authorizer.AuthorizerFunc(allowMasters), paths}
	if client == nil {
		klog.InfoS("No SubjectAccessReviews can be created: set --kubeconfig")
	} else {
		authorizers = append(authorizers, &accessReviewer{
			client: client.AuthorizationV1().SubjectAccessReviews(), metrics: m, cache: cache.NewLRUExpireCache(cachedReviews),
			authorizedTTL: o.authorizedTTL, unauthorizedTTL: o.unauthorizedTTL,
		})
	}
	return union.New(authorizers...), nil
}

func allowMasters(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func allowAuthenticated(paths []string) authorizer.AuthorizerFunc {
	return func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if slices.Contains(paths, a.GetPath()) || slices.Contains(a.GetUser().GetGroups(), user.AllAuthenticated) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionDeny, "only authenticated callers are answered", nil
	}
}
