package hosting

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deny returns the error by which a handler refuses a request: the client sees the
// message, after the name of the webhook, with the status 403 Forbidden.
//
// Any other error that a handler returns says that the webhook failed to judge, and
// leaves it to the registration's failurePolicy what becomes of the request.
func Deny(format string, args ...any) error {
	return DenyStatus(metav1.Status{
		Message: fmt.Sprintf(format, args...),
		Reason:  metav1.StatusReasonForbidden,
		Code:    http.StatusForbidden,
	})
}

// DenyStatus refuses a request as Deny does, with a status of the handler's choice. The
// status of an error of k8s.io/apimachinery/pkg/api/errors is a good one:
//
//	return hosting.DenyStatus(apierrors.NewInvalid(kind, name, errs).ErrStatus)
func DenyStatus(status metav1.Status) error {
	status.Status = metav1.StatusFailure
	return &denial{status}
}

// denial is a verdict that takes the way of an error.
type denial struct {
	status metav1.Status
}

func (d *denial) Error() string {
	return "denied: " + d.status.Message
}

// denialIn returns the status of the denial that an error is or wraps, or nil.
func denialIn(err error) *metav1.Status {
	var d *denial
	if errors.As(err, &d) {
		return &d.status
	}
	return nil
}
