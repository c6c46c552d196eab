// Package prober probes which certificate endpoints serve, directly or through the API server.
package prober

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
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
}

// ProbeEndpoints probes whether endpoints serve with a certificate that the registration will
// trust, and adds the answers to the snapshot.
func (p *Prober) ProbeEndpoints(ctx context.Context, s *gather.Snapshot, endpoints []backends.Endpoint) {
	type trusted struct{ deployment, trust string }
	alike := map[trusted][]backends.Endpoint{}
	for _, e := range endpoints {
		alike[trusted{e.Deployment, e.Trust}] = append(alike[trusted{e.Deployment, e.Trust}], e)
	}
	for by, some := range alike {
		trust := []byte(by.trust)
		if by.trust == "" {
			trust = s.TrustOf(by.deployment, p.Now())
		}
		if p.Mode == ModeAPIServer {
			p.throughAPIServer(ctx, s, some, trust)
			continue
		}
		targets := make([]probe.Target, 0, len(some))
		for _, e := range some {
			targets = append(targets, probe.Target{Address: e.Address, ServerName: e.ServerName, What: e.What, Call: callOf(e)})
		}
		results := probe.All(ctx, targets, trust, p.options())
		if probe.NoneDialled(ofPods(some, results)) {
			p.throughAPIServer(ctx, s, some, trust)
			continue
		}
		for i, result := range results {
			p.Metrics.ObserveProbe(result)
			s.Observed.Answers[some[i]] = answerOf(result)
		}
	}
}

// ofPods returns the results of endpoints with their own address. The cluster IP of a Service does
// not identify a pod.
func ofPods(endpoints []backends.Endpoint, results []probe.Result) []probe.Result {
	var all []probe.Result
	for i, e := range endpoints {
		if !e.Virtual {
			all = append(all, results[i])
		}
	}
	return all
}

// options limits the duration of a reconciliation if endpoints drop packets. Endpoints that are not
// dialled within the limit are dialled in the next one.
func (p *Prober) options() probe.Options {
	return probe.Options{Parallel: 32, Timeout: 2 * time.Second, Review: 5 * time.Second, Total: PassTimeout / 2, Dial: p.Dial}
}

// callOf returns the review of an endpoint as an API server sends it.
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

// PassTimeout ends a pass that waits for an API server that does not answer.
const PassTimeout = time.Minute
