package write

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused reports whether the API server refused a request in a way that a retry does not change.
func IsRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) || IsDenied(err)
}

// IsDenied reports whether admission denied a request. A webhook denies with any code, a
// ValidatingAdmissionPolicy also with 401 and 413: the text alone shows it.
func IsDenied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "denied the request") || strings.Contains(message, "denied request")
}

// IsUnanswered reports whether a webhook that must review the request did not answer, or the API server
// did not answer in the time that a Sender had. The API server itself ends a request after 34 s, for
// example when several webhooks do not answer.
func IsUnanswered(err error) bool {
	return errors.Is(err, ErrNoAnswer) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
