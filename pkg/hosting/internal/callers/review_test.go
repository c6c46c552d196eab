package callers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

type tokenReviews struct {
	errs  []error
	calls int
}

func (c *tokenReviews) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	c.calls++
	if c.calls <= len(c.errs) {
		return nil, c.errs[c.calls-1]
	}
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: r.Spec.Token == "good", User: authenticationv1.UserInfo{Username: "u"}}
	return r, nil
}

func TestTokenReviewsAreRetried(t *testing.T) {
	temporary, permanent := apierrors.NewInternalError(errors.New("etcd")), apierrors.NewForbidden(authenticationv1.Resource("tokenreviews"), "", nil)
	for name, test := range map[string]struct {
		token string
		errs  []error
		calls int
		ok    bool
		err   error
	}{
		"accepted":         {"good", nil, 1, true, nil},
		"refused":          {"bad", nil, 1, false, nil},
		"temporary errors": {"good", []error{temporary, temporary}, 3, true, nil},
		"too many errors":  {"good", []error{temporary, temporary, temporary, temporary, temporary}, 5, false, temporary},
		"permanent error":  {"good", []error{permanent}, 1, false, permanent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &tokenReviews{errs: test.errs}
				reviewer := &tokenReviewer{client: client, metrics: newMetrics(prometheus.NewRegistry())}
				response, ok, err := reviewer.AuthenticateToken(t.Context(), test.token)
				if client.calls != test.calls || ok != test.ok || !errors.Is(err, test.err) {
					t.Errorf("after %d reviews: %v, %v; want %d: %v, %v", client.calls, ok, err, test.calls, test.ok, test.err)
				}
				if ok && response.User.GetName() != "u" {
					t.Errorf("the user is %q", response.User.GetName())
				}
			})
		})
	}
}

type accessReviews struct {
	status authorizationv1.SubjectAccessReviewStatus
	calls  int
}

func (c *accessReviews) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	c.calls++
	r.Status = c.status
	return r, nil
}

func TestSubjectAccessReviewsAreCached(t *testing.T) {
	for name, test := range map[string]struct {
		status authorizationv1.SubjectAccessReviewStatus
		want   authorizer.Decision
		ttl    time.Duration
	}{
		"allowed":    {authorizationv1.SubjectAccessReviewStatus{Allowed: true}, authorizer.DecisionAllow, time.Minute},
		"denied":     {authorizationv1.SubjectAccessReviewStatus{Denied: true}, authorizer.DecisionDeny, time.Second},
		"no opinion": {authorizationv1.SubjectAccessReviewStatus{}, authorizer.DecisionNoOpinion, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &accessReviews{status: test.status}
				reviewer := &accessReviewer{client: client, metrics: newMetrics(prometheus.NewRegistry()),
					cache: cache.NewLRUExpireCache(cachedReviews), authorizedTTL: time.Minute, unauthorizedTTL: time.Second}
				authorize := func(path string, calls int) {
					t.Helper()
					a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "u"}, Verb: "post", Path: path}
					if got, _, err := reviewer.Authorize(t.Context(), a); got != test.want || err != nil || client.calls != calls {
						t.Errorf("%s: decision %v, %v after %d reviews, want %v after %d", path, got, err, client.calls, test.want, calls)
					}
				}
				authorize("/a", 1)
				authorize("/a", 1)
				authorize("/b", 2)
				time.Sleep(test.ttl + time.Millisecond) //nolint:forbidigo // the clock is simulated
				authorize("/a", 3)
			})
		})
	}
}

func TestUIDHeadersIncludeTheStandardOne(t *testing.T) {
	for value, want := range map[string]bool{"X-Remote-Uid": true, "x-uid,x-remote-uid": true, "X-Uid": false, "X-Remote-User": false} {
		o := NewOptions(nil)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(flags)
		hostingtest.Must(t, flags.Parse([]string{"--requestheader-uid-headers=" + value}))
		hostingtest.Same(t, value+" is permitted", want, o.Complete("") == nil)
	}
}
