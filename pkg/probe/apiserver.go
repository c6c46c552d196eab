package probe

import (
	"fmt"
	"slices"
	"strings"
)

// FromAPIServer is the result of a call that the API server made to a webhook at a path that does not exist.
// An answer of HTTP means that the handshake succeeded. A nil error means nothing: the API server may not
// have observed the webhook. Errors are text only: one of Go's HTTP client begins with the method and the
// URL. Any other failure is an answer only if the text shows that the call was made.
func FromAPIServer(target Target, webhook string, err error) Result {
	if err == nil {
		return because(Interrupted, target, "was not proved through the API server, which lets the request for it pass, as one does that has not learned of the webhook: "+
			"if it stays so, have the webhook server refuse what it is asked at a path that it does not serve, as with the status 404")
	}
	text := err.Error()
	if strings.Contains(text, fmt.Sprintf("admission webhook %q denied the request", webhook)) {
		return Result{Target: target, Reason: Serving}
	}
	_, failure, concerned := strings.Cut(text, fmt.Sprintf("failed calling webhook %q: ", webhook))
	if !concerned {
		return because(Interrupted, target, "was not probed through the API server, which refuses the request for it: %s: "+
			"check what refuses WebhookRollouts, a webhook or a policy", text)
	}
	call, called := strings.CutPrefix(failure, "failed to call webhook: ")
	_, cause, unanswered := strings.Cut(call, `Post "https://`)
	_, cause, _ = strings.Cut(cause, `": `)
	switch {
	case strings.HasPrefix(failure, "received invalid webhook response: "):
		return Result{Target: target, Reason: Serving}
	case !called:
		return because(Interrupted, target, "was not called by the API server (%s): "+
			"check the caBundle and the Service in the webhook's clientConfig", failure)
	case unanswered:
		return unansweredCall(target, cause)
	case strings.HasPrefix(call, "context ") || strings.HasPrefix(call, "client rate limiter "):
		return because(Interrupted, target, "was not called by the API server in time (%s): "+
			"check the load of the API server", call)
	default:
		return Result{Target: target, Reason: Serving}
	}
}

// unansweredCall is the result of a call that got no answer of HTTP.
func unansweredCall(target Target, cause string) Result {
	switch {
	case strings.Contains(cause, "x509:"):
		return badCertificateOfCall(target, cause)
	case strings.Contains(cause, "deadline exceeded") || strings.Contains(cause, "timeout"):
		return because(TimedOut, target, "does not answer the API server in time: "+
			"check the network policies between it and the API servers")
	case strings.Contains(cause, "connection refused"):
		return because(Refused, target, "refuses connections of the API server: "+
			"check that the webhook server runs and listens on the port that its Service targets")
	case strings.Contains(cause, "server gave HTTP response to HTTPS client") || strings.Contains(cause, "does not look like a TLS handshake"):
		return because(NotTLS, target, "does not answer the API server with TLS: "+
			"let the webhook server serve HTTPS, with the certificate mounted into its container")
	case strings.Contains(cause, "tls:"):
		return because(HandshakeFailed, target, "breaks off the TLS handshake with the API server (%s): "+
			"API servers need TLS 1.2 or later and HTTP/1.1 of it, and show no certificate of their own", withoutPorts(cause))
	default:
		return because(Unreachable, target, "cannot be called by the API server (%s): "+
			"check the routes and network policies between it and the API servers", withoutPorts(cause))
	}
}

// The API server checks the time before the signature: an expired certificate may be signed by any CA. The
// time of the check is left out: it would make another text of every call.
func badCertificateOfCall(target Target, cause string) Result {
	_, flaw, _ := strings.Cut(cause, "x509: ")
	flaw, _, _ = strings.Cut(flaw, ": current time")
	if strings.Contains(flaw, "unknown authority") {
		return because(ForeignCertificate, target, "presents a certificate to the API server that is not as expected (x509: %s): "+
			"let the webhook server serve the certificate mounted into its container", flaw)
	}
	return because(UnfitCertificate, target, "presents a certificate to the API server that it does not accept (x509: %s): "+
		"let the webhook server serve the certificate mounted into its container, and reload it when it changes; compare the clocks of the nodes", flaw)
}

// PathFromAPIServer is the result of a call of a path with an object that the server does not expect. So an error of
// the server shows nothing, and neither does a request that passes: the API server may not have observed the webhook.
func PathFromAPIServer(target Target, webhook string, err error) Result {
	serving := Result{Target: target, Reason: Serving}
	if err == nil {
		return serving
	}
	_, failure, failed := strings.Cut(err.Error(), fmt.Sprintf("failed calling webhook %q: ", webhook))
	if !failed {
		return serving
	}
	for _, answer := range []struct{ text, status string }{
		{"the server could not find the requested resource", "status 404 Not Found"},
		{"the server does not allow this method on the requested resource", "status 405 Method Not Allowed"},
		{"the server responded with the status code 410 but did not return more information", "status 410 Gone"},
	} {
		if strings.HasSuffix(failure, answer.text) {
			return *pathNotServed(target, answer.status)
		}
	}
	if flaw := flawFromAPIServer(target.Call, failure); flaw != "" {
		return *noReview(target, flaw)
	}
	return serving
}

// flawFromAPIServer is what an API server finds wrong in an answer that is a success; empty for nothing. It sends a
// validating webhook of v1 an AdmissionReview to each path, so other webhooks may answer with a patch, with a review
// of v1beta1, or with a ConversionReview.
func flawFromAPIServer(call Call, failure string) string {
	if call.AnyAnswer || call.Kind != "AdmissionReview" {
		return ""
	}
	if invalid, ok := strings.CutPrefix(failure, "received invalid webhook response: "); ok {
		return flawOfReview(call, invalid)
	}
	undecodable, called := strings.CutPrefix(failure, "failed to call webhook: ")
	isUndecodable := func(text string) bool { return strings.HasPrefix(undecodable, text) }
	switch {
	case called && strings.HasPrefix(undecodable, "converting (") && isV1(call):
		return otherKind(call)
	case called && slices.ContainsFunc(undecodableAnswers, isUndecodable):
		return "a body that is not a review, as JSON"
	default:
		return ""
	}
}

// flawOfReview is what is wrong in an answer that was decoded.
func flawOfReview(call Call, invalid string) string {
	switch {
	case strings.HasPrefix(invalid, "webhook response was absent"):
		return fmt.Sprintf("an object that has no response, instead of %s of %s", call.Kind, call.APIVersion)
	case isV1(call) && strings.HasPrefix(invalid, "expected response.uid="):
		return "a review whose response.uid is not the request.uid"
	case isV1(call) && strings.HasPrefix(invalid, "expected webhook response of "):
		return otherKind(call)
	default:
		return ""
	}
}

func isV1(call Call) bool { return strings.HasSuffix(call.APIVersion, "/v1") }

func otherKind(call Call) string {
	return fmt.Sprintf("another kind of object than %s of %s", call.Kind, call.APIVersion)
}

// undecodableAnswers are the errors of the API server's client and of its decoder for an answer of status 200.
var undecodableAnswers = []string{
	"0-length response with status code: ",
	"couldn't get version/kind; json parse error: ",
	"yaml: ",
	"json: cannot unmarshal ",
	"no kind ",
	"Object 'Kind' is missing in ",
	"serializer for ",
	"Internal error occurred: mime: ",
}

// The last part of a network error names the cause. Local ports before it change with each attempt.
func withoutPorts(cause string) string {
	parts := strings.Split(cause, ": ")
	return parts[len(parts)-1]
}
