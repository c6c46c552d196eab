package cluster

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
	facts := page.Facts{Server: page.WithoutPath(r.Cluster.Config.Host), Namespace: r.Namespace}
	var err error
	if facts.Facts, err = r.Cluster.Status(ctx, r.Namespace); err != nil {
		return facts, err
	}
	if err := r.Cluster.workloads(ctx, facts.Services); err != nil {
		return facts, err
	}
	events, err := r.Cluster.Kube.CoreV1().Events(r.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + operatorsv1alpha1.ClusterServiceVersionKind})
	switch {
	case apierrors.IsForbidden(err):
		facts.EventsUnread = err.Error()
	case err != nil:
		return facts, err
	default:
		facts.Events = events.Items
	}
	return facts, nil
}

// Measure dials the endpoints of the webhooks that are shown, and reads the latencies.
func (r PageReader) Measure(ctx context.Context) page.Measurements {
	var m page.Measurements
	facts, err := r.Cluster.examine(ctx, false, func(w doctor.Webhook) bool {
		return r.Namespace == "" || w.Owner.Namespace == r.Namespace || w.Service.Namespace == r.Namespace
	})
	if err != nil {
		m.NotDialled = r.withoutPath(err)
	} else {
		m.Answers, m.DialledAt = facts.Answers, time.Now()
	}
	r.AddLatencies(ctx, &m)
	return m
}

// AddLatencies asks one API server. Others have measured other calls.
func (r PageReader) AddLatencies(ctx context.Context, m *page.Measurements) {
	metrics, err := r.Cluster.Kube.CoreV1().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err == nil {
		defer metrics.Close()
		m.Latencies, err = page.ReadLatencies(metrics)
	}
	if err != nil {
		m.LatenciesUnread = r.withoutPath(err)
	}
}

// withoutPath omits the path of the address of the API server from a message: it can contain a token.
func (r PageReader) withoutPath(err error) string {
	return strings.ReplaceAll(err.Error(), r.Cluster.Config.Host, page.WithoutPath(r.Cluster.Config.Host))
}
