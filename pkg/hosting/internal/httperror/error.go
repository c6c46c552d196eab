// Package httperror answers HTTP requests with errors whose body is a metav1.Status.
package httperror

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// New returns the reason why a call has no verdict. API servers show the message to their client and
// act by the registration's failurePolicy. A review that denies would override the failurePolicy,
// and API servers do not read a review whose UID is unknown.
func New(code int32, reason metav1.StatusReason, format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Message:  fmt.Sprintf(format, args...),
		Reason:   reason,
		Code:     code,
	}}
}

// BadRequest returns an error with the code 400.
func BadRequest(format string, args ...any) *apierrors.StatusError {
	return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, format, args...)
}

// TooLarge returns an error with the code 413.
func TooLarge(format string, args ...any) *apierrors.StatusError {
	return New(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, format, args...)
}

// TooManyRequests returns an error with the code 429. The answer has Retry-After.
func TooManyRequests(format string, args ...any) *apierrors.StatusError {
	e := New(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, format, args...)
	e.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return e
}

// Internal returns an error with the code 500 and the message of err.
func Internal(err error) *apierrors.StatusError {
	return New(http.StatusInternalServerError, metav1.StatusReasonInternalError, "%v", err)
}

// Unavailable returns an error with the code 503.
func Unavailable(format string, args ...any) *apierrors.StatusError {
	return New(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, format, args...)
}

const (
	// retryAfterSeconds is sent with 429. API servers repeat the call while the webhook's timeout lasts.
	retryAfterSeconds = 1
	// lingerTime is how long a client may continue to send an unread body while the answer reaches it.
	lingerTime = 2 * time.Second
	// answerTime is how long a caller may take to read the answer.
	answerTime = 10 * time.Second
)

// Write answers a request with an error. An error of another type has the code 500.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	e := Internal(err)
	errors.As(err, &e)
	status := e.ErrStatus
	afterBody := status.Code == http.StatusInternalServerError || status.Code == http.StatusGatewayTimeout
	if r.ProtoMajor == 1 && !afterBody {
		// To keep the connection, net/http would wait for the rest of the body before it sends the
		// answer. It still reads some of the body after the answer.
		w.Header().Set("Connection", "close")
		_ = SetDeadlines(w, time.Now().Add(lingerTime)) // the request's own deadline is set already
	}
	if status.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	}
	body, err := json.Marshal(status)
	if err != nil {
		klog.ErrorS(err, "Cannot encode a status")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body) // the caller may have closed the connection
}

// SetDeadlines limits the time to send the request's body and to read the answer, also after the handler: net/http then
// reads the rest of the body, and sets its own deadlines for the next request.
func SetDeadlines(w http.ResponseWriter, deadline time.Time) error {
	control := http.NewResponseController(w)
	for _, err := range []error{control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline.Add(answerTime))} {
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return Internal(fmt.Errorf("cannot set the deadline of the request: %w", err))
		}
	}
	return nil
}
