package write

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefused reports whether the API server refused a request in a way that a retry does not change.
func IsRefused(err error) bool {
	var installer *InstallerError
	return errors.As(err, &installer) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) || IsDenied(err)
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

var (
	localAddress = regexp.MustCompile(`\b(read|write|dial) (tcp|udp) [^ >]+->`)
	requestID    = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// Text returns the text of an error without what differs in each attempt: local ports, and identifiers of requests,
// which webhooks put into their denials. It ends up in a status, where a new text is a write.
func Text(err error) string {
	text := localAddress.ReplaceAllString(err.Error(), "$1 $2 ")
	return requestID.ReplaceAllString(text, "(id)")
}

// stable has the text of Text, and is the error otherwise.
type stable struct{ error }

func (s stable) Error() string { return Text(s.error) }

func (s stable) Unwrap() error { return s.error }
