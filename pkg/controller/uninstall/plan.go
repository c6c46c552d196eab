package uninstall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
)

// ManagerPlan runs Manager with clients that write nothing, so that the list cannot differ. It returns an error
// of Manager, such as a conversion in use, with the writes before it.
func ManagerPlan(ctx context.Context, config *rest.Config, namespaces ...string) ([]string, error) {
	plan := &writePlan{}
	dry := rest.CopyConfig(config)
	dry.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return plan.send(r, next) })
	})
	set, err := clients.New(dry)
	if err != nil {
		return nil, err
	}
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	err = Manager(ctx, set, logrus.NewEntry(silent), namespaces...)
	return plan.writes, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type writePlan struct {
	mu     sync.Mutex
	writes []string
}

// send sends writes as dry runs, and no deletions: with options in the body the API server ignores dryRun.
func (p *writePlan) send(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return next.RoundTrip(r)
	}
	p.mu.Lock()
	p.writes = append(p.writes, describeWrite(r.Method, r.URL.Path))
	p.mu.Unlock()
	if r.Method == http.MethodDelete {
		return deleted(r), nil
	}
	dry := r.Clone(r.Context())
	query := dry.URL.Query()
	query.Set("dryRun", "All")
	dry.URL.RawQuery = query.Encode()
	return next.RoundTrip(dry)
}

// deleted returns the response of the API server to a deletion.
func deleted(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(status)), ContentLength: int64(len(status)),
	}
}

func describeWrite(method, path string) string {
	verb := map[string]string{http.MethodDelete: "delete", http.MethodPost: "create"}[method]
	if verb == "" {
		verb = "change"
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	default:
		return verb + " " + path
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	name := ""
	if len(parts) > 1 {
		name = " " + namespace + strings.Join(parts[1:], "/")
	}
	return fmt.Sprintf("%s %s%s%s", verb, parts[0], group, name)
}
