package uninstall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Plan is what Manager would do.
type Plan struct {
	Writes []string
	// Refused has the requests that the API server would refuse.
	Refused RefusedError
}

// ManagerPlan runs Manager with dry runs: the list cannot differ. With an error it returns the writes before it.
func ManagerPlan(ctx context.Context, config *rest.Config, namespaces ...string) (Plan, error) {
	plan := &writePlan{}
	known, err := clients.New(config)
	if err != nil {
		return Plan{}, err
	}
	if plan.registered, err = registeredWebhooks(ctx, known.Kube); err != nil {
		return Plan{}, err
	}
	dry := rest.CopyConfig(config)
	dry.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return plan.send(r, next) })
	})
	set, err := clients.New(dry)
	if err != nil {
		return Plan{}, err
	}
	silent := logrus.New() //nolint:forbidigo // It prints nothing.
	silent.SetOutput(io.Discard)
	err = Manager(ctx, set, logrus.NewEntry(silent), namespaces...)
	var held HeldError
	if errors.As(err, &held) {
		plan.Refused = append(plan.Refused, held.Refused...)
	}
	return Plan{Writes: lists.Distinct(plan.Writes), Refused: lists.Distinct(plan.Refused)}, err // a conflict repeats them
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type writePlan struct {
	Plan
	mu         sync.Mutex
	registered map[string]sets.Set[string] // the configurations that are not deleted yet, by the names of their webhooks
}

// registeredWebhooks returns the configurations of each webhook, as resource/name.
func registeredWebhooks(ctx context.Context, kube kubernetes.Interface) (map[string]sets.Set[string], error) {
	validating, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	mutating, err := kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	registered := map[string]sets.Set[string]{}
	for _, o := range slices.Concat(drift.Objects(live.Pointers(validating.Items)), drift.Objects(live.Pointers(mutating.Items))) {
		for _, w := range webhookconfig.Webhooks(o) {
			if registered[w.Name] == nil {
				registered[w.Name] = sets.New[string]()
			}
			registered[w.Name].Insert(strings.ToLower(drift.KindOf(o)) + "s/" + o.GetName())
		}
	}
	return registered, nil
}

// send sends a write as a dry run. It answers as if the write was accepted if only a webhook refuses it that is
// unregistered by then, and if a deletion is refused: the plan lists the other writes, too.
func (p *writePlan) send(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return next.RoundTrip(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Writes = append(p.Writes, describeWrite(r.Method, r.URL.Path))
	dry, err := dryRun(r)
	if err != nil {
		return nil, err
	}
	response, err := next.RoundTrip(dry)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < http.StatusBadRequest {
		p.noteUnregistered(r)
		return response, nil
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	if p.refusedByUnregistered(text) {
		return accepted(r, next)
	}
	if refused := refusedDeletion(r.URL.Path, text); r.Method == http.MethodDelete && len(refused) > 0 {
		p.Refused = append(p.Refused, refused...)
		return deleted(r), nil
	}
	return response, nil
}

func dryRun(r *http.Request) (*http.Request, error) {
	if r.Method == http.MethodDelete {
		return dryDeletion(r)
	}
	dry := r.Clone(r.Context())
	dry.Header.Set("Accept", runtime.ContentTypeJSON)
	query := dry.URL.Query()
	query.Set("dryRun", "All")
	dry.URL.RawQuery = query.Encode()
	return dry, nil
}

func (p *writePlan) noteUnregistered(r *http.Request) {
	if r.Method != http.MethodDelete {
		return
	}
	resource, name := path.Split(r.URL.Path)
	for _, configurations := range p.registered {
		configurations.Delete(path.Base(resource) + "/" + name)
	}
}

// refusedByUnregistered reports whether the webhook that refuses a write is in no configuration any more.
func (p *writePlan) refusedByUnregistered(answer []byte) bool {
	var status metav1.Status
	if json.Unmarshal(answer, &status) != nil {
		return false
	}
	for webhook, configurations := range p.registered {
		if configurations.Len() == 0 && strings.Contains(status.Message, fmt.Sprintf("webhook %q", webhook)) {
			return true
		}
	}
	return false
}

// accepted returns the response to a deletion, or the live object as the result of another write.
func accepted(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		return deleted(r), nil
	}
	return next.RoundTrip(reading(r))
}

// reading returns the request that reads the object of a write.
func reading(r *http.Request) *http.Request {
	read := r.Clone(r.Context())
	read.Method, read.Body, read.GetBody, read.ContentLength, read.URL.RawQuery = http.MethodGet, nil, nil, 0, ""
	read.Header.Set("Accept", runtime.ContentTypeJSON)
	read.Header.Del("Content-Type")
	return read
}

// refusedDeletion returns the refusal in an answer of the API server; none for another error.
func refusedDeletion(path string, answer []byte) []string {
	var status metav1.Status
	if err := json.Unmarshal(answer, &status); err != nil {
		return nil
	}
	refused, err := Refusals(refusal("delete", objectOf(path), apierrors.FromObject(&status)))
	if err != nil {
		return nil
	}
	return refused
}

// deleted returns the response of the API server to a deletion.
func deleted(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
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
	return verb + " " + objectOf(path)
}

// objectOf names the object of a path by its resource, group, namespace and name.
func objectOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	default:
		return path
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	name := ""
	if len(parts) > 1 {
		name = " " + namespace + strings.Join(parts[1:], "/")
	}
	return parts[0] + group + name
}
