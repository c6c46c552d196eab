package cluster

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// probeOptions limit the time that unreachable endpoints cost.
var probeOptions = probe.Options{Parallel: 8, Timeout: 5 * time.Second}

func (c *Cluster) probe(ctx context.Context, w doctor.Webhook, b backend, direct bool) []doctor.Answer {
	endpoints := route.Behind(b.service, w.Port, b.slices).Ready
	targets, pods := make([]probe.Target, len(endpoints)), map[string]string{}
	for i, e := range endpoints {
		targets[i] = probe.Target{Address: e.Address(), ServerName: fmt.Sprintf("%s.%s.svc", w.Service.Name, w.Service.Namespace), What: e.String()}
		if e.IsPod() {
			pods[e.Address()] = e.Ref.Name
		}
	}
	options, failed := probeOptions, sync.Map{}
	options.AnyCertificate = w.Unverified
	if !direct {
		options.Patience, options.Dial = options.Timeout, recorded(&failed, func(ctx context.Context, address string) (net.Conn, error) {
			return c.forward(ctx, w.Service.Namespace, pods[address], address)
		})
	}
	answers := make([]doctor.Answer, len(endpoints))
	for i, r := range probe.All(ctx, targets, w.CABundle, options) {
		answers[i] = answerOf(r)
		if cause, is := failed.Load(r.Address); is {
			answers[i] = doctor.Answer{Endpoint: r.What, Message: cause.(error).Error()}
		}
	}
	return answers
}

type dialFunc = func(ctx context.Context, address string) (net.Conn, error)

// recorded returns a dial that records by address why the last one failed.
func recorded(failed *sync.Map, dial dialFunc) dialFunc {
	return func(ctx context.Context, address string) (net.Conn, error) {
		connection, err := dial(ctx, address)
		if err != nil {
			failed.Store(address, err)
		} else {
			failed.Delete(address)
		}
		return connection, err
	}
}

// answerOf is what a probe shows. A probe that was interrupted shows nothing.
func answerOf(r probe.Result) doctor.Answer {
	switch {
	case r.Err == nil:
		return doctor.Answer{Endpoint: r.What, Asked: true, Certificate: r.Leaf, CA: r.CA, NotBefore: r.NotBefore, NotAfter: r.NotAfter}
	case r.Reason == probe.Interrupted:
		return doctor.Answer{Endpoint: r.What, Message: r.Err.Error()}
	default:
		return doctor.Answer{Endpoint: r.What, Asked: true, Reason: string(r.Reason), Message: r.Err.Error()}
	}
}
