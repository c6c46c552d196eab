package controller

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// dial asks endpoints whether they serve with a certificate that the registration
// will trust, and adds their answers to the snapshot.
func (c *prober) dial(ctx context.Context, s *snapshot, endpoints []backends.Endpoint) {
	type trusted struct{ deployment, trust string }
	alike := map[trusted][]backends.Endpoint{}
	for _, e := range endpoints {
		alike[trusted{e.Deployment, e.Trust}] = append(alike[trusted{e.Deployment, e.Trust}], e)
	}
	for by, some := range alike {
		trust := []byte(by.trust)
		if by.trust == "" {
			trust = s.TrustOf(by.deployment, c.now())
		}
		if c.Probe == ProbeAPIServer {
			c.throughAPIServer(ctx, s, some, trust)
			continue
		}
		targets := make([]probe.Target, 0, len(some))
		for _, e := range some {
			targets = append(targets, probe.Target{Address: e.Address, ServerName: e.ServerName, What: e.What, Call: callOf(e)})
		}
		results := probe.All(ctx, targets, trust, c.probing())
		if probe.NoneDialled(ofPods(some, results)) {
			c.throughAPIServer(ctx, s, some, trust)
			continue
		}
		for i, result := range results {
			c.metrics.ObserveProbe(result)
			s.Observed.Answers[some[i]] = answerOf(result)
		}
	}
}

// ofPods are the results of who listens at an address of his own: a Service's tells nothing.
func ofPods(endpoints []backends.Endpoint, results []probe.Result) []probe.Result {
	var all []probe.Result
	for i, e := range endpoints {
		if !e.Virtual {
			all = append(all, results[i])
		}
	}
	return all
}

// probing keeps a pass short, however many endpoints swallow packets: those that are not
// dialled within its bounds are not proved, and dialled again in the next.
func (c *prober) probing() probe.Options {
	return probe.Options{Parallel: 32, Timeout: 2 * time.Second, Review: 5 * time.Second, Total: passTimeout / 2, Dial: c.Dial}
}

// callOf is the review of an endpoint, as an API server would send it.
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
