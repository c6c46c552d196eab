// Package prober probes which certificate endpoints serve, directly or through the API server.
package prober

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// Prober probes which certificate endpoints serve, directly or through the API server.
type Prober struct {
	clients.Set
	Dial    func(ctx context.Context, address string) (net.Conn, error)
	Mode    Mode
	Log     *logrus.Entry
	Metrics *metrics.Metrics
	Now     func() time.Time
	Live    *live.Reader
	// APIServers finds the API servers of the cluster.
	APIServers func(context.Context) Servers
	// FieldContests records the re-syncs of pods.
	FieldContests *records.FieldContests
	// Markers records the markers while API servers are asked.
	Markers  *records.Markers
	patience patience
}

// ProbeEndpoints probes under the caBundle that the registration will have. caBundleOf returns it by Deployment.
func (p *Prober) ProbeEndpoints(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, endpoints []backends.Endpoint, caBundleOf func(deployment string) []byte) decide.Probed {
	type trusted struct{ deployment, trust string }
	alike, answers := map[trusted][]backends.Endpoint{}, decide.Probed{}
	for _, e := range endpoints {
		alike[trusted{e.Deployment, e.Trust}] = append(alike[trusted{e.Deployment, e.Trust}], e)
	}
	for by, some := range alike {
		trust := []byte(by.trust)
		if by.trust == "" {
			trust = caBundleOf(by.deployment)
		}
		if p.Mode == ModeAPIServer || !p.dialEndpoints(ctx, some, trust, answers) {
			p.throughAPIServer(ctx, csv, some, trust, answers)
		}
	}
	return answers
}

// dialEndpoints adds the answers of endpoints. It reports whether any pod could be dialled.
func (p *Prober) dialEndpoints(ctx context.Context, endpoints []backends.Endpoint, trust []byte, answers decide.Probed) bool {
	targets := lists.Map(endpoints, func(e backends.Endpoint) probe.Target {
		return probe.Target{Address: e.Address, ServerName: e.ServerName, What: e.What, Call: callOf(e)}
	})
	results := probe.All(ctx, targets, trust, p.options())
	if probe.NoneDialled(ofPods(endpoints, results)) {
		return false
	}
	for i, result := range results {
		p.Metrics.ObserveProbe(result)
		answers[endpoints[i]] = answerOf(result)
	}
	return true
}

// ofPods excludes the cluster IP of a Service, which does not identify a pod.
func ofPods(endpoints []backends.Endpoint, results []probe.Result) []probe.Result {
	var all []probe.Result
	for i, e := range endpoints {
		if !e.Virtual {
			all = append(all, results[i])
		}
	}
	return all
}

// options limits the duration if endpoints drop packets. The next reconciliation dials the others.
func (p *Prober) options() probe.Options {
	return probe.Options{Parallel: 32, Timeout: 2 * time.Second, Review: 5 * time.Second, Total: ReconcileTimeout / 2, Dial: p.Dial}
}

func callOf(e backends.Endpoint) probe.Call {
	r := e.Review
	if r == (reviews.Request{}) {
		return probe.Call{}
	}
	return probe.Call{
		Host: net.JoinHostPort(e.ServerName, strconv.Itoa(int(e.Port))), Path: r.Path, Body: r.Body,
		APIVersion: r.APIVersion, Kind: r.Kind, UID: r.UID, AnyAnswer: r.AnyAnswer,
	}
}

func answerOf(r probe.Result) backends.Answer {
	if r.Err == nil {
		return backends.Answer{}
	}
	return backends.Answer{Reason: string(r.Reason), Message: r.Err.Error()}
}

// ReconcileTimeout ends a reconciliation that waits for an API server that does not answer.
const ReconcileTimeout = time.Minute
