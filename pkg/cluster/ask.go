package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
)

// bounds keep a look at a cluster short where nobody answers.
var bounds = probe.Options{Parallel: 8, Timeout: 5 * time.Second}

// ask dials the ready pods behind a webhook, by their addresses or through the API server.
// A pod that the API server does not let be dialled is not among the answers.
func (c *Cluster) ask(ctx context.Context, w doctor.Webhook, b backend, direct bool) []doctor.Answer {
	var targets []probe.Target
	pods := b.podsAt(w.Port)
	for _, address := range slices.Sorted(maps.Keys(pods)) {
		targets = append(targets, probe.Target{
			Address: address, ServerName: fmt.Sprintf("%s.%s.svc", w.Service.Name, w.Service.Namespace),
			What: fmt.Sprintf("pod %s/%s", w.Service.Namespace, pods[address]),
		})
	}
	options, out := bounds, sync.Map{} // of reach, by address
	if !direct {
		options.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			connection, err := forwarder{c.config, c.kube}.dialAt(ctx, w.Service.Namespace, pods[address], address)
			if err != nil {
				out.Store(address, true)
			}
			return connection, err
		}
	}
	var answers []doctor.Answer
	for _, r := range probe.All(ctx, targets, w.CABundle, options) {
		if _, unasked := out.Load(r.Address); !unasked {
			answers = append(answers, answerOf(r))
		}
	}
	return answers
}

func answerOf(r probe.Result) doctor.Answer {
	if r.Err == nil {
		return doctor.Answer{NotAfter: r.NotAfter}
	}
	return doctor.Answer{Reason: string(r.Reason), Message: r.Err.Error()}
}

// podsAt are the names of the pods that are ready behind a port of the Service, by address.
func (b backend) podsAt(port int32) map[string]string {
	pods := map[string]string{}
	for _, slice := range b.slices {
		for _, target := range b.targets(slice, port) {
			for _, e := range slice.Endpoints {
				if !ready(e) || e.TargetRef == nil || e.TargetRef.Kind != "Pod" {
					continue
				}
				for _, address := range e.Addresses {
					pods[net.JoinHostPort(address, target)] = e.TargetRef.Name
				}
			}
		}
	}
	return pods
}

// targets are the ports of a slice that belong to a port of the Service.
func (b backend) targets(slice discoveryv1.EndpointSlice, port int32) []string {
	var targets []string
	for _, of := range b.service.Spec.Ports {
		for _, p := range slice.Ports {
			if of.Port == port && p.Port != nil && p.Name != nil && *p.Name == of.Name {
				targets = append(targets, strconv.Itoa(int(*p.Port)))
			}
		}
	}
	return targets
}

func ready(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
