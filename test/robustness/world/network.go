package world

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// Dial connects with a pod, by its address, or with a Service, by its address or name.
func (w *World) Dial(ctx context.Context, address string) (net.Conn, error) {
	return w.dial(ctx, "", address)
}

// DialAs does what Dial does, for a client that the Observer learns of.
func (w *World) DialAs(client string) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) { return w.dial(ctx, client, address) }
}

func (w *World) dial(ctx context.Context, as, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	s := w.behind(host)
	if s == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect %s: %w", address, syscall.ECONNREFUSED)}
	}
	client, server := net.Pipe()
	select {
	case s.connections <- connection{server, as}:
		return client, nil
	case <-s.stopped:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect %s: %w", address, syscall.ECONNREFUSED)}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *World) behind(host string) *server {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if service := w.service(host); service != nil {
		host = w.endpoint(service)
	}
	for _, p := range w.nodes {
		if p.address == host {
			return p.server
		}
	}
	return nil
}

func (w *World) service(host string) *corev1.Service {
	name, rest, _ := strings.Cut(host, ".")
	for _, s := range list(w.objects.services) {
		if s.Spec.ClusterIP == host || s.Name == name && rest == s.Namespace+".svc" {
			return s
		}
	}
	return nil
}

// endpoint returns the address of a random ready endpoint; empty for none.
func (w *World) endpoint(service *corev1.Service) string {
	var ready []string
	for _, slice := range list(w.objects.slices) {
		if slice.Namespace != service.Namespace || slice.Labels[serviceLabel] != service.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				ready = append(ready, e.Addresses...)
			}
		}
	}
	if len(ready) == 0 {
		return ""
	}
	return ready[w.random.IntN(len(ready))]
}
