package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Call is a review that is sent to a target after the handshake. The zero Call sends nothing.
type Call struct {
	// Host and Path are those of the URL that an API server would call.
	Host, Path string
	// Body is the review, as JSON.
	Body string
	// APIVersion, Kind and UID are the values that the answer must have.
	APIVersion, Kind, UID string
	// AnyAnswer accepts every answer except that the path is not served.
	AnyAnswer bool
}

// The bounds of what is read of an answer: a server may be hostile, or not a webhook server.
const (
	maxHeaderBytes = 64 << 10
	maxBodyBytes   = 1 << 20
)

// reviewed returns nil if the path is served, or if the server authenticates its callers.
func reviewed(ctx context.Context, conn authenticating, target Target, timeout time.Duration) *Result {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_ = conn.SetDeadline(time.Now().Add(timeout)) // the context ends it otherwise
	response, err := post(within, conn, target.Call)
	if err != nil && conn.refused.Load() {
		return nil
	}
	if err != nil {
		return unanswered(ctx, target, err, timeout)
	}
	defer response.Body.Close()
	if wrong := wrongStatus(target, response); wrong != nil || accepted(target.Call, response) {
		return wrong
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes+1))
	if err != nil {
		return unanswered(ctx, target, err, timeout)
	}
	if flaw := flawOf(target.Call, response.Header.Get("Content-Type"), body); flaw != "" {
		return noReview(target, flaw)
	}
	return nil
}

// It follows no redirects, which could lead the manager to any address.
func post(ctx context.Context, conn net.Conn, call Call) (*http.Response, error) {
	transport := &http.Transport{
		DialTLSContext:         func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	to := url.URL{Scheme: "https", Host: call.Host, Path: call.Path}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(call.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "olm-webhook-manager")
	return transport.RoundTrip(request)
}

// The server authenticates its callers, or any answer is enough.
func accepted(call Call, response *http.Response) bool {
	return call.AnyAnswer || response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden
}

// wrongStatus is the result for a status that an API server takes for a failed call.
func wrongStatus(target Target, response *http.Response) *Result {
	status := response.StatusCode
	named := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	switch {
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone:
		return pathNotServed(target, "status "+named)
	case status >= 300 && status < 400:
		return pathNotServed(target, fmt.Sprintf("status %s, a redirect to %q", named, shortened(response.Header.Get("Location"))))
	case accepted(target.Call, response) || status >= 200 && status < 300:
		return nil
	default:
		return noReview(target, "status "+named)
	}
}

// flawOf is what keeps an answer from being the review that was asked for; empty for none.
func flawOf(call Call, contentType string, body []byte) string {
	if media, wrong := wrongContentType(contentType); wrong {
		return fmt.Sprintf("content type %q instead of application/json", shortened(media))
	}
	if len(body) > maxBodyBytes {
		return fmt.Sprintf("more than %d bytes", maxBodyBytes)
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Response   *struct {
			UID string `json:"uid"`
		} `json:"response"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return "a body that is not a JSON object"
	}
	strict := isV1(call) // API servers compare the kind and the uid of reviews of v1 only.
	switch {
	case strict && (review.Kind != call.Kind || review.APIVersion != call.APIVersion):
		return fmt.Sprintf("kind %q of %q instead of %s of %s", shortened(review.Kind), shortened(review.APIVersion), call.Kind, call.APIVersion)
	case review.Response == nil:
		return fmt.Sprintf("an object that has no response, instead of %s of %s", call.Kind, call.APIVersion)
	case strict && review.Response.UID != call.UID:
		return "a review whose response.uid is not the request.uid"
	default:
		return ""
	}
}

// API servers ignore the content type. Servers that set none send text/plain or application/octet-stream.
func wrongContentType(contentType string) (media string, wrong bool) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType, contentType != ""
	}
	switch media {
	case "application/json", "text/json", "text/plain", "application/octet-stream":
		return media, false
	default:
		return media, !strings.HasSuffix(media, "+json")
	}
}

func unanswered(ctx context.Context, target Target, err error, timeout time.Duration) *Result {
	switch {
	case ctx.Err() != nil:
		return new(interrupted(target))
	case target.Call.AnyAnswer:
		return nil
	case isTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return noReview(target, fmt.Sprintf("nothing within %s", timeout))
	default:
		return noReview(target, "a connection that is closed, or no HTTP/1.1")
	}
}

func pathNotServed(target Target, found string) *Result {
	return new(because(PathNotServed, target, "answers the %s at path %q with %s: "+
		"correct webhookPath in spec.webhookdefinitions, or let the webhook server serve this path", target.Call.Kind, target.Call.Path, found))
}

func noReview(target Target, found string) *Result {
	return new(because(NoReview, target, "answers the %s at path %q with %s: "+
		"correct webhookPath in spec.webhookdefinitions, or let the webhook server answer with such a review; its log may name the cause",
		target.Call.Kind, target.Call.Path, found))
}

func shortened(text string) string {
	const longest = 100
	if len(text) > longest {
		return text[:longest] + "..."
	}
	return text
}
