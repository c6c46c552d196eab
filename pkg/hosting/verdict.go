package hosting

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deny returns the error by which a handler denies a request. The client sees the message after the
// name of the webhook, with the status 403 Forbidden.
//
// Any other error of a handler means that the webhook could not decide. Then the registration's
// failurePolicy decides.
func Deny(format string, args ...any) error {
	return DenyStatus(metav1.Status{
		Message: fmt.Sprintf(format, args...),
		Reason:  metav1.StatusReasonForbidden,
		Code:    http.StatusForbidden,
	})
}

// DenyStatus denies a request like Deny, with a status that the handler chooses, such as the status
// of an error of k8s.io/apimachinery/pkg/api/errors:
//
//	return hosting.DenyStatus(apierrors.NewInvalid(kind, name, errs).ErrStatus)
func DenyStatus(status metav1.Status) error {
	status.Status = metav1.StatusFailure
	return &denial{status}
}

type denial struct {
	status metav1.Status
}

func (d *denial) Error() string { return "denied: " + d.status.Message }

func denialIn(err error) *metav1.Status {
	if d, ok := errors.AsType[*denial](err); ok {
		return &d.status
	}
	return nil
}
