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

// probe returns one answer for each ready endpoint behind the port of a webhook.
func (c *Cluster) probe(ctx context.Context, w doctor.Webhook, b backend, direct bool) []doctor.Answer {
	endpoints := route.Behind(b.service, w.Port, b.slices).Ready
	targets, pods := make([]probe.Target, len(endpoints)), map[string]string{}
	for i, e := range endpoints {
		targets[i] = probe.Target{Address: e.Address(), ServerName: fmt.Sprintf("%s.%s.svc", w.Service.Name, w.Service.Namespace), What: e.String()}
		if e.IsPod() {
			pods[e.Address()] = e.Ref.Name
		}
	}
	options, forwards := probeOptions, recordedDials{dial: func(ctx context.Context, address string) (net.Conn, error) {
		return c.forward(ctx, w.Service.Namespace, pods[address], address)
	}}
	options.AnyCertificate = w.Unverified
	if !direct {
		options.Dial, options.Patience = forwards.Dial, options.Timeout
	}
	answers := make([]doctor.Answer, len(endpoints))
	for i, r := range probe.All(ctx, targets, w.CABundle, options) {
		answers[i] = answerOf(r)
		if cause := forwards.failure(r.Address); cause != "" {
			answers[i] = doctor.Answer{Endpoint: r.What, Message: cause}
		}
	}
	return answers
}

// recordedDials records why the last dial of an address failed.
type recordedDials struct {
	dial   func(ctx context.Context, address string) (net.Conn, error)
	failed sync.Map // causes, by address
}

// Dial connects to an address.
func (d *recordedDials) Dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := d.dial(ctx, address)
	if err != nil {
		d.failed.Store(address, err.Error())
	} else {
		d.failed.Delete(address)
	}
	return connection, err
}

func (d *recordedDials) failure(address string) string {
	cause, _ := d.failed.Load(address)
	text, _ := cause.(string)
	return text
}

// answerOf is what a probe shows. A probe that was interrupted shows nothing.
func answerOf(r probe.Result) doctor.Answer {
	switch {
	case r.Err == nil:
		return doctor.Answer{Endpoint: r.What, Asked: true, NotAfter: r.NotAfter}
	case r.Reason == probe.Interrupted:
		return doctor.Answer{Endpoint: r.What, Message: r.Err.Error()}
	default:
		return doctor.Answer{Endpoint: r.What, Asked: true, Reason: string(r.Reason), Message: r.Err.Error()}
	}
}
