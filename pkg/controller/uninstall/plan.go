package uninstall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
)

// Plan is what Manager would do.
type Plan struct {
	Writes []string
	// Refused has the requests that the API server would refuse.
	Refused RefusedError
}

// ManagerPlan runs Manager with clients that send every write as a dry run, so that the list cannot differ. It returns
// an error of Manager, such as a conversion in use, with the writes before it.
func ManagerPlan(ctx context.Context, config *rest.Config, namespaces ...string) (Plan, error) {
	plan := &writePlan{}
	dry := rest.CopyConfig(config)
	dry.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return plan.send(r, next) })
	})
	set, err := clients.New(dry)
	if err != nil {
		return Plan{}, err
	}
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	err = Manager(ctx, set, logrus.NewEntry(silent), namespaces...)
	var held HeldError
	if errors.As(err, &held) {
		plan.refused = append(plan.refused, held.Refused...)
	}
	unregistered, failed := plan.unregistered(ctx, set)
	if failed != nil {
		return Plan{Writes: plan.writes, Refused: plan.refused}, failed
	}
	return Plan{Writes: plan.writes, Refused: lasting(plan.refused, unregistered)}, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type writePlan struct {
	mu      sync.Mutex
	writes  []string
	refused RefusedError
}

func (p *writePlan) send(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return next.RoundTrip(r)
	}
	p.mu.Lock()
	p.writes = append(p.writes, describeWrite(r.Method, r.URL.Path))
	p.mu.Unlock()
	if r.Method == http.MethodDelete {
		return p.sendDeletion(r, next)
	}
	dry := r.Clone(r.Context())
	query := dry.URL.Query()
	query.Set("dryRun", "All")
	dry.URL.RawQuery = query.Encode()
	return next.RoundTrip(dry)
}

// sendDeletion records a refusal, and answers as if the object was deleted: the plan lists the other writes, too.
func (p *writePlan) sendDeletion(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	dry, err := dryDeletion(r)
	if err != nil {
		return nil, err
	}
	response, err := next.RoundTrip(dry)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	refused := refusedDeletion(r.URL.Path, text)
	if len(refused) == 0 {
		return response, nil
	}
	p.mu.Lock()
	p.refused = append(p.refused, refused...)
	p.mu.Unlock()
	return deleted(r), nil
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

// unregistered returns the names of the webhooks of the configurations that the plan deletes.
func (p *writePlan) unregistered(ctx context.Context, set clients.Set) ([]string, error) {
	if !slices.ContainsFunc(p.refused, func(r string) bool { return strings.Contains(r, "webhook ") }) {
		return nil, nil
	}
	var names []string
	deletes := func(resource, name string) bool {
		return slices.Contains(p.writes, "delete "+resource+"."+admissionregistrationv1.GroupName+" "+name)
	}
	validating, err := set.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			if deletes("validatingwebhookconfigurations", c.Name) {
				names = append(names, w.Name)
			}
		}
	}
	mutating, err := set.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			if deletes("mutatingwebhookconfigurations", c.Name) {
				names = append(names, w.Name)
			}
		}
	}
	return names, nil
}

// lasting leaves out the refusals of webhooks that the plan unregisters before the refused write.
func lasting(refused RefusedError, unregistered []string) RefusedError {
	return slices.DeleteFunc(slices.Clone(refused), func(r string) bool {
		return slices.ContainsFunc(unregistered, func(name string) bool { return strings.Contains(r, fmt.Sprintf("webhook %q", name)) })
	})
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
