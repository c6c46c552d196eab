package callers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/klog/v2"
)

const (
	// reviewTimeout limits a TokenReview with its retries, and each attempt of a SubjectAccessReview.
	reviewTimeout = 10 * time.Second
	cachedReviews = 8192
	// cachedPathBytes is the length from which a path, which the caller chooses, is not cached.
	cachedPathBytes = 10000
)

// createReview observes each attempt, and retries temporary errors.
func createReview[T any](ctx context.Context, create func(context.Context, T, metav1.CreateOptions) (T, error), review T, observed results) (answer T, err error) {
	var last error
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	err = wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		began := time.Now()
		answer, last = create(ctx, review, metav1.CreateOptions{})
		observed.observeReview(last, began)
		if temporary(last) {
			return false, nil
		}
		return true, last
	})
	return answer, cmp.Or(last, err)
}

func temporary(err error) bool {
	_, delay := apierrors.SuggestsClientDelay(err)
	return delay || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

type tokenReviewer struct {
	client  authenticationclient.TokenReviewInterface
	metrics *metrics
}

// AuthenticateToken returns the user of a token.
func (t *tokenReviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, err := createReview(ctx, t.client.Create, review, t.metrics.tokenReviews)
	if err != nil {
		klog.ErrorS(err, "Cannot create a TokenReview")
		return nil, false, err
	}
	status := answer.Status
	if !status.Authenticated {
		if status.Error != "" {
			err = errors.New(status.Error)
		}
		return nil, false, err
	}
	extra := map[string][]string{}
	for key, values := range status.User.Extra {
		extra[key] = values
	}
	return &authenticator.Response{User: &user.DefaultInfo{
		Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: extra,
	}}, true, nil
}

type accessReviewer struct {
	client                         authorizationclient.SubjectAccessReviewInterface
	metrics                        *metrics
	cache                          *cache.LRUExpireCache // authorizationv1.SubjectAccessReviewStatus by spec in JSON
	authorizedTTL, unauthorizedTTL time.Duration
}

// Authorize reports whether the caller may use the path.
func (r *accessReviewer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	caller := a.GetUser()
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: caller.GetName(), UID: caller.GetUID(), Groups: caller.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: a.GetPath(), Verb: a.GetVerb()},
	}
	for key, values := range caller.GetExtra() {
		spec.Extra[key] = values
	}
	status, err := r.review(ctx, spec)
	if err != nil {
		klog.ErrorS(err, "Cannot create a SubjectAccessReview")
		return authorizer.DecisionNoOpinion, "", err
	}
	switch {
	case status.Denied && status.Allowed:
		return authorizer.DecisionDeny, status.Reason, errors.New("the SubjectAccessReview is both allowed and denied")
	case status.Denied:
		return authorizer.DecisionDeny, status.Reason, nil
	case status.Allowed:
		return authorizer.DecisionAllow, status.Reason, nil
	default:
		return authorizer.DecisionNoOpinion, status.Reason, nil
	}
}

func (r *accessReviewer) review(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (status authorizationv1.SubjectAccessReviewStatus, err error) {
	key, err := json.Marshal(spec)
	if err != nil {
		return status, err
	}
	if cached, ok := r.cache.Get(string(key)); ok {
		return cached.(authorizationv1.SubjectAccessReviewStatus), nil
	}
	answer, err := createReview(ctx, r.client.Create, &authorizationv1.SubjectAccessReview{Spec: spec}, r.metrics.accessReviews)
	if err != nil {
		return status, err
	}
	ttl := r.unauthorizedTTL
	if answer.Status.Allowed {
		ttl = r.authorizedTTL
	}
	if len(spec.NonResourceAttributes.Path) < cachedPathBytes {
		r.cache.Add(string(key), answer.Status, ttl)
	}
	return answer.Status, nil
}
