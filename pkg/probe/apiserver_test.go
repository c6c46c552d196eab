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
		"it lets the request pass":       {want: Interrupted, says: "lets the request for it pass"},
		"it denies the request":          {answer: `admission webhook "` + webhook + `" denied the request: no`, want: Serving},
		"there is no such path":          {answer: failed + "the server could not find the requested resource", want: Serving},
		"it answers with an error":       {answer: failed + `an error on the server ("broken") has prevented the request from succeeding`, want: Serving},
		"it answers something else":      {answer: `Internal error occurred: failed calling webhook "` + webhook + `": received invalid webhook response: expected response.uid="1", got ""`, want: Serving},
		"a certificate of somebody else": {answer: post + "tls: failed to verify certificate: x509: certificate signed by unknown authority", want: ForeignCertificate, says: "x509: certificate signed by unknown authority"},
		"nobody listens":                 {answer: post + "dial tcp 10.0.0.7:443: connect: connection refused", want: Refused},
		"packets are swallowed":          {answer: post + "context deadline exceeded", want: TimedOut},
		"a connection is broken off":     {answer: post + "read tcp 10.0.0.1:41234->10.0.0.7:443: read: connection reset by peer", want: Unreachable, says: "(connection reset by peer)"},
		"no Service":                     {answer: post + `service "server-service" not found`, want: Unreachable, says: `service "server-service" not found`},
		"another webhook refuses":        {answer: `admission webhook "policy.example.com" denied the request: no labels`, want: Interrupted, says: "policy.example.com"},
		"another webhook fails":          {answer: `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.ns.svc:443/": EOF`, want: Interrupted},
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
