package cluster

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
)

// PageReader reads what the page shows of a namespace, or of all.
type PageReader struct {
	Cluster   *Cluster
	Namespace string
}

// Read returns the facts except the measurements.
func (r PageReader) Read(ctx context.Context) (page.Facts, error) {
	facts := page.Facts{Server: page.WithoutPath(r.server().String()), Namespace: r.Namespace, ClockAhead: r.Cluster.clockAhead(ctx)}
	var err error
	if facts.Facts, err = r.Cluster.Status(ctx, r.Namespace); err != nil {
		return facts, r.withoutPath(err)
	}
	if err := r.Cluster.workloads(ctx, facts.Services); err != nil {
		return facts, r.withoutPath(err)
	}
	if facts.Events, facts.EventsUnread, err = r.events(ctx); err != nil {
		return facts, r.withoutPath(err)
	}
	facts.Deployments, facts.DeploymentsUnread, err = r.deployments(ctx)
	return facts, r.withoutPath(err)
}

// events returns why the user may not list them, if so.
func (r PageReader) events(ctx context.Context) (all []corev1.Event, unread string, err error) {
	list, err := r.Cluster.Kube.CoreV1().Events(r.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + operatorsv1alpha1.ClusterServiceVersionKind})
	if apierrors.IsForbidden(err) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	return list.Items, "", nil
}

// deployments returns those of ClusterServiceVersions, or why the user may not list them.
func (r PageReader) deployments(ctx context.Context) (all []appsv1.Deployment, unread string, err error) {
	list, err := r.Cluster.Kube.AppsV1().Deployments(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelOwner})
	if apierrors.IsForbidden(err) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	return list.Items, "", nil
}

// Dial dials the endpoints of webhooks. It returns their answers by the String of the webhook.
func (r PageReader) Dial(ctx context.Context, webhooks []doctor.Webhook) (map[string][]doctor.Answer, error) {
	answers, err := r.Cluster.Dial(ctx, webhooks)
	return answers, r.withoutPath(err)
}

// Latencies asks one API server. Others have measured other calls.
func (r PageReader) Latencies(ctx context.Context) (page.Latencies, error) {
	metrics, err := r.Cluster.Kube.CoreV1().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return nil, r.withoutPath(err)
	}
	defer metrics.Close()
	latencies, err := page.ReadLatencies(metrics)
	return latencies, r.withoutPath(err)
}

// redacted is an error with another message.
type redacted struct {
	error
	message string
}

func (e redacted) Error() string { return e.message }
func (e redacted) Unwrap() error { return e.error }

// quotedURL is a URL in the message of an error.
var quotedURL = regexp.MustCompile(`https?://[^"\s]+`)

// withoutPath omits credentials, and the path of the address of the API server, from a message: it can contain a token.
func (r PageReader) withoutPath(err error) error {
	if err == nil {
		return nil
	}
	server := r.server()
	return redacted{err, quotedURL.ReplaceAllStringFunc(err.Error(), func(quoted string) string {
		u, err := url.Parse(quoted)
		if err != nil || u.Host != server.Host {
			return page.WithoutPath(quoted)
		}
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimPrefix(u.Path, strings.TrimSuffix(server.Path, "/"))}).String()
	})}
}

// server is the address of the API server. The address in a kubeconfig may lack the scheme.
func (r PageReader) server() *url.URL {
	server, _, err := rest.DefaultServerUrlFor(r.Cluster.Config)
	if err != nil {
		return &url.URL{} // no client can be made of it
	}
	return server
}
