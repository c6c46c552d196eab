package httpserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// allowedFor is how long a token that was allowed is not reviewed again.
	allowedFor = time.Minute
	// allowedTokens is how many such tokens are remembered.
	allowedTokens = 64
	// reviewTimeout, reviewRate and reviewBurst limit the reviews for one host with unknown tokens.
	reviewTimeout = 5 * time.Second
	reviewRate    = 5
	reviewBurst   = 10
	// limitedHosts is how many hosts are remembered, each for hostTime after its last unknown token.
	limitedHosts = 1024
	hostTime     = 10 * time.Second
	// openReviews is how many reviews may be in progress, fewer than the limit of connections.
	openReviews = 50
)

// access checks a bearer token (TokenReview) and the path (SubjectAccessReview).
type access struct {
	kube    kubernetes.Interface
	next    http.Handler
	log     *logrus.Entry
	allowed *cache.LRUExpireCache // key: request path and hash of the token
	hosts   *hostLimiter
	open    chan struct{} // a slot for each review in progress
}

// Authorized delegates authentication and authorization. Refusals are not remembered: they occupy no memory.
func Authorized(kube kubernetes.Interface, next http.Handler, log *logrus.Entry) http.Handler {
	return &access{
		kube: kube, next: next, log: log,
		allowed: cache.NewLRUExpireCache(allowedTokens),
		hosts:   newHostLimiter(),
		open:    make(chan struct{}, openReviews),
	}
}

func (a *access) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused := a.review(r); refused != nil {
		if refused.code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if refused.code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, refused.message, refused.code)
		return
	}
	a.next.ServeHTTP(w, r)
}

type refusal struct {
	code    int
	message string
}

func (a *access) review(r *http.Request) *refusal {
	token := bearerToken(r)
	if token == "" {
		return &refusal{http.StatusUnauthorized, "no bearer token: send the token of a ServiceAccount in the header Authorization"}
	}
	key := sha256.Sum256([]byte(r.URL.Path + "\x00" + token))
	if _, ok := a.allowed.Get(key); ok {
		return nil
	}
	if !a.hosts.accept(r.RemoteAddr) {
		return &refusal{http.StatusTooManyRequests, "too many unknown tokens of this host: retry"}
	}
	select {
	case a.open <- struct{}{}:
		defer func() { <-a.open }()
	default:
		return &refusal{http.StatusTooManyRequests, "too many callers with unknown tokens: retry"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	refused, err := a.ask(ctx, token, r.URL.Path)
	if err != nil {
		a.log.WithError(err).WithField("path", r.URL.Path).Warn("a request cannot be authorized")
		return &refusal{http.StatusInternalServerError, "the API server did not answer the TokenReview or SubjectAccessReview: the log of the manager has the cause"}
	}
	if refused == nil {
		a.allowed.Add(key, true, allowedFor)
	}
	return refused
}

// ask returns what the API server holds against the caller; nil if nothing.
func (a *access) ask(ctx context.Context, token, path string) (*refusal, error) {
	identity, err := a.kube.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create TokenReview: %w", err)
	}
	if !identity.Status.Authenticated {
		return &refusal{http.StatusUnauthorized, "the API server does not accept the bearer token"}, nil
	}
	user := identity.Status.User
	access, err := a.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra(user.Extra),
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create SubjectAccessReview: %w", err)
	}
	if !access.Status.Allowed || access.Status.Denied {
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not get %s: bind it to the ClusterRole olm-webhook-manager-metrics-reader", user.Username, path)}, nil
	}
	return nil, nil
}

func extra(of map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	values := map[string]authorizationv1.ExtraValue{}
	for key, value := range of {
		values[key] = authorizationv1.ExtraValue(value)
	}
	return values
}

func bearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// hostLimiter limits how often each host has a token reviewed: forged tokens of one host do not refuse the others.
type hostLimiter struct {
	mutex sync.Mutex
	known *cache.LRUExpireCache // flowcontrol.RateLimiter by host
}

func newHostLimiter() *hostLimiter {
	return &hostLimiter{known: cache.NewLRUExpireCache(limitedHosts)}
}

func (l *hostLimiter) accept(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	limiter, known := l.known.Get(host)
	if !known {
		limiter = flowcontrol.NewTokenBucketRateLimiter(reviewRate, reviewBurst)
	}
	l.known.Add(host, limiter, hostTime)
	return limiter.(flowcontrol.RateLimiter).TryAccept()
}
