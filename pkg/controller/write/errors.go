package write

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused tells an answer that will not change until somebody changes something.
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

// IsUnanswered tells that the API server could not ask a webhook, whoever's, that has to be asked.
func IsUnanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
