package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// failure is why a call has no verdict. It is answered with an HTTP error whose body is a
// metav1.Status: the API server puts the message into its own, and acts by the
// registration's failurePolicy. A review that refuses would overrule the failurePolicy,
// and one whose UID is unknown is not even read.
type failure struct {
	code    int32
	reason  metav1.StatusReason
	message string
}

func (f *failure) Error() string {
	return f.message
}

// afterBody says whether the body has been read: only then does a handler fail.
func (f *failure) afterBody() bool {
	return f.code == http.StatusInternalServerError || f.code == http.StatusGatewayTimeout
}

func badRequest(format string, args ...any) error {
	return &failure{http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf(format, args...)}
}

func internalError(err error) error {
	return &failure{http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error()}
}

func unavailable(format string, args ...any) error {
	return &failure{http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, fmt.Sprintf(format, args...)}
}

func notFound(path string, endpoints []*endpoint) error {
	var paths []string
	for _, e := range endpoints {
		paths = append(paths, e.webhook.Path)
	}
	return &failure{http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("nothing is served at %q: there are webhooks at %s", path, quoted(paths))}
}

// late is for a handler that has not returned in time.
func late(ctx context.Context) error {
	return &failure{http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		fmt.Sprintf("the handler had no answer by the call's deadline: %v", context.Cause(ctx))}
}

// lingerTime is how long a client may go on sending a body that is not read, while the answer
// reaches it.
const lingerTime = 2 * time.Second

// writeFailure answers with an error.
func writeFailure(w http.ResponseWriter, r *http.Request, err error) {
	f := &failure{http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error()}
	errors.As(err, &f)
	if r.ProtoMajor == 1 && !f.afterBody() {
		// To keep the connection, the server would wait for the rest of the body before it
		// answers. It still reads some of it after the answer.
		w.Header().Set("Connection", "close")
		_ = limitTime(w, time.Now().Add(lingerTime)) // the request's own deadline is set already
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Message:  f.message,
		Reason:   f.reason,
		Code:     f.code,
	}
	if f.code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	}
	body, err := json.Marshal(status)
	if err != nil {
		klog.Errorf("A status cannot be encoded: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(f.code))
	_, _ = w.Write(body) // who has hung up needs no answer
}
