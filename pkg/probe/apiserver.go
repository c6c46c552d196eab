package probe

import (
	"fmt"
	"strings"
)

// FromAPIServer is what the API server found out about a target when it called a
// webhook of the given name at a path that does not exist. Any answer of HTTP means
// that it got through the handshake; what the webhook answers does not matter. That the
// request passed, a nil error, means nothing: so it does with an API server that has not
// learned of the webhook, and called nobody.
//
// API servers tell their errors as text only. Whatever kept them from an answer is an
// error of Go's HTTP client, which begins with the method and the URL.
func FromAPIServer(target Target, webhook string, err error) Result {
	if err == nil {
		return because(Interrupted, target, "was not proved through the API server, which lets the request for it pass, as one does that has not learned of the webhook: "+
			"if it stays so, have the webhook server refuse what it is asked at a path that it does not serve, as with the status 404")
	}
	text := err.Error()
	_, cause, transport := strings.Cut(text, `Post "https://`)
	_, cause, _ = strings.Cut(cause, `": `)
	called := strings.Contains(text, fmt.Sprintf("failed calling webhook %q", webhook))
	denied := strings.Contains(text, fmt.Sprintf("admission webhook %q denied the request", webhook))
	switch {
	case !called && !denied:
		return because(Interrupted, target, "was not probed through the API server, which refuses the request for it: %s: "+
			"check what refuses WebhookRollouts, a webhook or a policy", text)
	case !transport:
		return Result{Target: target, Reason: Serving}
	case strings.Contains(cause, "x509:"):
		return because(ForeignCertificate, target, "presents a certificate to the API server that is not as expected (%s): "+
			"let the webhook server serve the certificate mounted into its container", cause)
	case strings.Contains(cause, "deadline exceeded") || strings.Contains(cause, "timeout"):
		return because(TimedOut, target, "does not answer the API server in time: "+
			"check the network policies between it and the API servers")
	case strings.Contains(cause, "connection refused"):
		return because(Refused, target, "refuses connections of the API server: "+
			"check that the webhook server runs and listens on the port that its Service targets")
	default:
		return because(Unreachable, target, "cannot be called by the API server (%s): "+
			"check the routes and network policies between it and the API servers", withoutPorts(cause))
	}
}

// withoutPorts is the last part of a network error, which tells the cause; before it are
// local ports, which change with each attempt.
func withoutPorts(cause string) string {
	parts := strings.Split(cause, ": ")
	return parts[len(parts)-1]
}
