package probe

import (
	"errors"
	"strings"
	"testing"
)

// The texts are those of a kube-apiserver 1.36.
func TestFromAPIServer(t *testing.T) {
	const webhook = "called.canary.olm-webhook-manager.io"
	const failed = `Internal error occurred: failed calling webhook "` + webhook + `": failed to call webhook: `
	const post = failed + `Post "https://server-service.shop.svc:443/absent?timeout=2s": `
	for name, tc := range map[string]struct {
		answer string // empty when the request passed
		want   Reason
		says   string
	}{
		"it lets the request pass":        {want: Interrupted, says: "lets the request for it pass"},
		"it denies the request":           {answer: `admission webhook "` + webhook + `" denied the request: no`, want: Serving},
		"there is no such path":           {answer: failed + "the server could not find the requested resource", want: Serving},
		"it answers with an error":        {answer: failed + `an error on the server ("broken") has prevented the request from succeeding`, want: Serving},
		"it answers something else":       {answer: `Internal error occurred: failed calling webhook "` + webhook + `": received invalid webhook response: expected response.uid="1", got ""`, want: Serving},
		"it reads no answer to its end":   {answer: failed + "unexpected error when reading response body. Please retry. Original error: unexpected EOF", want: Serving},
		"the caBundle is unusable":        {answer: `Internal error occurred: failed calling webhook "` + webhook + `": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block`, want: Interrupted, says: "unable to load root certificates"},
		"it is not called for a reason":   {answer: `Internal error occurred: failed calling webhook "` + webhook + `": could not create admission objects: what`, want: Interrupted, says: "could not create admission objects"},
		"the call is not made in time":    {answer: failed + "context deadline exceeded", want: Interrupted, says: "load of the API server"},
		"the API server limits itself":    {answer: failed + "client rate limiter Wait returned an error: context canceled", want: Interrupted},
		"a certificate that expired":      {answer: post + "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-03-01T12:00:00Z is after 2026-02-28T12:00:00Z", want: UnfitCertificate, says: "(x509: certificate has expired or is not yet valid): "},
		"a certificate of another name":   {answer: post + "tls: failed to verify certificate: x509: certificate is valid for a.shop.svc, not b.shop.svc", want: UnfitCertificate, says: "valid for a.shop.svc, not b.shop.svc"},
		"a certificate of a client":       {answer: post + "tls: failed to verify certificate: x509: certificate specifies an incompatible key usage", want: UnfitCertificate},
		"plain HTTP":                      {answer: post + "http: server gave HTTP response to HTTPS client", want: NotTLS},
		"another protocol than TLS":       {answer: post + "tls: first record does not look like a TLS handshake", want: NotTLS},
		"an earlier version of TLS":       {answer: post + "remote error: tls: protocol version not supported", want: HandshakeFailed, says: "(protocol version not supported)"},
		"a handshake without an end":      {answer: post + "net/http: TLS handshake timeout", want: TimedOut},
		"a certificate of another client": {answer: post + "tls: failed to verify certificate: x509: certificate signed by unknown authority", want: ForeignCertificate, says: "x509: certificate signed by unknown authority"},
		"no server listens":               {answer: post + "dial tcp 10.0.0.7:443: connect: connection refused", want: Refused},
		"packets are swallowed":           {answer: post + "context deadline exceeded", want: TimedOut},
		"a connection is broken off":      {answer: post + "read tcp 10.0.0.1:41234->10.0.0.7:443: read: connection reset by peer", want: Unreachable, says: "(connection reset by peer)"},
		"no Service":                      {answer: post + `service "server-service" not found`, want: Unreachable, says: `service "server-service" not found`},
		"another webhook refuses":         {answer: `admission webhook "policy.example.com" denied the request: no labels`, want: Interrupted, says: "policy.example.com"},
		"another webhook fails":           {answer: `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.ns.svc:443/": EOF`, want: Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			target := Target{Address: "server-service.shop.svc:443", What: "service shop/server-service"}
			var answer error
			if tc.answer != "" {
				answer = errors.New(tc.answer)
			}
			got := FromAPIServer(target, webhook, answer)
			if got.Reason != tc.want {
				t.Errorf("%s: %v, want %s", got.Reason, got.Err, tc.want)
			}
			if (got.Err == nil) != (tc.want == Serving) || got.Err != nil && !strings.Contains(got.Err.Error(), tc.says) {
				t.Errorf("says %v, want %q", got.Err, tc.says)
			}
		})
	}
}

// The server does not expect the object, so its errors show nothing. An answer that is a success must be a review.
func TestPathFromAPIServer(t *testing.T) {
	const webhook = "path-0.canary.olm-webhook-manager.io"
	const calling = `Internal error occurred: failed calling webhook "` + webhook + `": `
	const failed, invalid = calling + "failed to call webhook: ", calling + "received invalid webhook response: "
	validation := Call{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1", Path: "/validate"}
	earlier, conversion, unmatched := validation, validation, validation
	earlier.APIVersion, unmatched.AnyAnswer = "admission.k8s.io/v1beta1", true
	conversion.Kind, conversion.APIVersion = "ConversionReview", "apiextensions.k8s.io/v1"
	for name, tc := range map[string]struct {
		call   Call
		answer string // empty when the request passed
		want   Reason
	}{
		"it lets the request pass":             {validation, "", Serving},
		"it denies the request":                {validation, `admission webhook "` + webhook + `" denied the request: no`, Serving},
		"it cannot judge the object":           {validation, failed + "the server rejected our request for an unknown reason", Serving},
		"it answers with an error":             {validation, failed + `an error on the server ("broken") has prevented the request from succeeding`, Serving},
		"another webhook is not found":         {validation, `Internal error occurred: failed calling webhook "other.example.com": failed to call webhook: the server could not find the requested resource`, Serving},
		"there is nothing at the path":         {validation, failed + "the server could not find the requested resource", PathNotServed},
		"a server of the library reports it":   {validation, failed + `there is no webhook at "/validate": webhooks are at "/judge": the server could not find the requested resource`, PathNotServed},
		"the path takes no such method":        {validation, failed + "the server does not allow this method on the requested resource", PathNotServed},
		"a deleted path":                       {validation, failed + "the server responded with the status code 410 but did not return more information", PathNotServed},
		"a page":                               {validation, failed + "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }", NoReview},
		"a page of several lines":              {validation, failed + "yaml: line 2: mapping values are not allowed in this context", NoReview},
		"nothing":                              {validation, failed + "0-length response with status code: 200 and content type: application/json", NoReview},
		"a content type that is none":          {validation, failed + "Internal error occurred: mime: invalid media parameter", NoReview},
		"an object of another kind":            {validation, failed + `no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:110"`, NoReview},
		"another type of a field":              {validation, failed + "json: cannot unmarshal string into Go struct field AdmissionReview.response of type v1.AdmissionResponse", NoReview},
		"an empty object":                      {validation, invalid + "webhook response was absent", NoReview},
		"another uid":                          {validation, invalid + `expected response.uid="1", got ""`, NoReview},
		"another version":                      {validation, failed + "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion", NoReview},
		"no version":                           {validation, invalid + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=", NoReview},
		"a patch":                              {validation, invalid + "validating webhook may not return response.patch", Serving},
		"v1beta1: another uid":                 {earlier, invalid + `expected response.uid="1", got ""`, Serving},
		"v1beta1: its version":                 {earlier, failed + "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion", Serving},
		"v1beta1: an empty object":             {earlier, invalid + "webhook response was absent", NoReview},
		"conversion: another review":           {conversion, failed + `no kind "ConversionReview" is registered for version "apiextensions.k8s.io/v1" in scheme "x"`, Serving},
		"conversion: an empty object":          {conversion, invalid + "webhook response was absent", Serving},
		"conversion: there is nothing":         {conversion, failed + "the server could not find the requested resource", PathNotServed},
		"rules match nothing: an empty object": {unmatched, invalid + "webhook response was absent", Serving},
	} {
		t.Run(name, func(t *testing.T) {
			target := Target{Address: "server-service.shop.svc", What: "the Service", Call: tc.call}
			var answer error
			if tc.answer != "" {
				answer = errors.New(tc.answer)
			}
			got := PathFromAPIServer(target, webhook, answer)
			if got.Reason != tc.want || (got.Err == nil) != (tc.want == Serving) || got.Err != nil && !strings.Contains(got.Err.Error(), `path "/validate"`) {
				t.Errorf("%s: %v, want %s", got.Reason, got.Err, tc.want)
			}
		})
	}
}
