// Package httperror answers HTTP requests with errors whose body is a metav1.Status.
package httperror

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Error is the reason why a call has no verdict. API servers show the message to their client and
// act by the registration's failurePolicy. A review that denies would override the failurePolicy,
// and API servers do not read a review whose UID is unknown.
type Error struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
}

func (e *Error) Error() string { return e.Message }

// afterBody reports whether the error occurs only after the body was read.
func (e *Error) afterBody() bool {
	return e.Code == http.StatusInternalServerError || e.Code == http.StatusGatewayTimeout
}

// New returns an Error.
func New(code int32, reason metav1.StatusReason, format string, args ...any) error {
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// BadRequest returns an Error with the code 400.
func BadRequest(format string, args ...any) error {
	return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, format, args...)
}

// TooLarge returns an Error with the code 413.
func TooLarge(format string, args ...any) error {
	return New(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, format, args...)
}

// TooManyRequests returns an Error with the code 429. The answer has Retry-After.
func TooManyRequests(format string, args ...any) error {
	return New(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, format, args...)
}

// Internal returns an Error with the code 500 and the message of err.
func Internal(err error) error {
	return New(http.StatusInternalServerError, metav1.StatusReasonInternalError, "%v", err)
}

// Unavailable returns an Error with the code 503.
func Unavailable(format string, args ...any) error {
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
	e := &Error{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	errors.As(err, &e)
	if r.ProtoMajor == 1 && !e.afterBody() {
		// To keep the connection, net/http would wait for the rest of the body before it sends the
		// answer. It still reads some of the body after the answer.
		w.Header().Set("Connection", "close")
		_ = SetDeadlines(w, time.Now().Add(lingerTime)) // the request's own deadline is set already
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Message:  e.Message,
		Reason:   e.Reason,
		Code:     e.Code,
	}
	if e.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	}
	body, err := json.Marshal(status)
	if err != nil {
		klog.ErrorS(err, "Cannot encode a status")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(e.Code))
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
