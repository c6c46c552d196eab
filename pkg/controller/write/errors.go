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

// IsDenied reads the text: a webhook denies with any code, a ValidatingAdmissionPolicy also with 401 and 413.
func IsDenied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "denied the request") || strings.Contains(message, "denied request")
}

// IsUnanswered reports whether a required webhook, or the API server in the time of a Sender, did not answer. The
// API server ends a request after 34 s, for example when several webhooks do not answer.
func IsUnanswered(err error) bool {
	return errors.Is(err, ErrNoAnswer) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
