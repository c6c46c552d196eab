package cluster

import (
	"bytes"
	"context"
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

// Read returns the facts except the answers of endpoints.
func (r PageReader) Read(ctx context.Context) (page.Facts, error) {
	c := r.Cluster
	facts := page.Facts{Server: c.Config.Host, Namespace: r.Namespace}
	var err error
	if facts.Facts, err = c.Status(ctx, r.Namespace); err != nil {
		return facts, err
	}
	if err := c.workloads(ctx, facts.Services); err != nil {
		return facts, err
	}
	if facts.Latencies, err = c.latencies(ctx); err != nil {
		facts.LatenciesUnread = err.Error()
	}
	events, err := c.Kube.CoreV1().Events(r.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + operatorsv1alpha1.ClusterServiceVersionKind})
	if apierrors.IsForbidden(err) {
		facts.EventsUnread = err.Error()
		return facts, nil
	}
	if err != nil {
		return facts, err
	}
	facts.Events = events.Items
	return facts, nil
}

// Dial returns the answers of all endpoints, and when they were read.
func (r PageReader) Dial(ctx context.Context) (map[string][]doctor.Answer, time.Time, error) {
	facts, err := r.Cluster.Examine(ctx, false)
	return facts.Answers, time.Now(), err
}

// latencies asks one API server. Others have measured other calls.
func (c *Cluster) latencies(ctx context.Context) (page.Latencies, error) {
	metrics, err := c.Kube.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return page.ReadLatencies(bytes.NewReader(metrics))
}
