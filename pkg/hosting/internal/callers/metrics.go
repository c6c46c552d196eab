package callers

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// metrics have the names of API servers.
type metrics struct {
	authentications, authorizations, tokenReviews, accessReviews results
}

func newMetrics(registry *prometheus.Registry) *metrics {
	decisions := prometheus.ExponentialBuckets(0.001, 2, 15)
	requests := []float64{0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10}
	return &metrics{
		authentications: newResults(registry, "authentication_attempts", "authentication_duration_seconds",
			"Authentications of callers, by result: success, failure or error.", "result", decisions),
		authorizations: newResults(registry, "authorization_attempts_total", "authorization_duration_seconds",
			"Authorizations of callers, by result: allowed, denied, no-opinion or error.", "result", decisions),
		tokenReviews: newResults(registry, "apiserver_delegated_authn_request_total", "apiserver_delegated_authn_request_duration_seconds",
			"TokenReviews that were created, by HTTP status code.", "code", requests),
		accessReviews: newResults(registry, "apiserver_delegated_authz_request_total", "apiserver_delegated_authz_request_duration_seconds",
			"SubjectAccessReviews that were created, by HTTP status code.", "code", requests),
	}
}

type results struct {
	count    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newResults(registry *prometheus.Registry, count, duration, help, label string, buckets []float64) results {
	r := results{
		count:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: count, Help: help}, []string{label}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: duration, Help: "Duration in seconds. " + help, Buckets: buckets}, []string{label}),
	}
	registry.MustRegister(r.count, r.duration)
	return r
}

func (r results) observe(result string, began time.Time) {
	r.count.WithLabelValues(result).Inc()
	r.duration.WithLabelValues(result).Observe(time.Since(began).Seconds())
}

func (r results) observeReview(err error, began time.Time) {
	code := strconv.Itoa(http.StatusCreated)
	if err != nil {
		code = "<error>"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code = strconv.Itoa(int(status.Status().Code))
	}
	r.observe(code, began)
}
