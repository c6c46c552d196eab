package prober

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// parallelRequests is how many new connections are opened at the same time.
const parallelRequests = 8

// askAny asks API servers through one address, on a new connection for each request, until all of them have answered or
// would have. earlier is why that is necessary.
func (o markerObjects) askAny(ctx context.Context, servers Servers, earlier certs.Propagation) certs.Propagation {
	found := earlier
	requests, obstacle := apiservers.Requests(servers.Number)
	if obstacle != "" {
		found.Unknown += "; " + obstacle
		return found
	}
	answers, behind, err := o.sample(ctx, servers, requests)
	switch {
	case behind:
		found.Behind, found.Unknown = []string{"one at " + servers.Any.Host}, ""
	case err != nil:
		found.Unknown += fmt.Sprintf("; a request to %s on a new connection failed: %v", servers.Any.Host, err)
	default:
		if missed := apiservers.Missed(answers, servers.Number); missed != "" {
			found.Unknown += fmt.Sprintf("; at %s, %s", servers.Any.Host, missed)
			return found
		}
		found.Method, found.Unknown = managerv1alpha1.PropagationRepeatedRequests, ""
	}
	return found
}

// sample returns the answers of API servers that have observed all markers. behind is set if one has not, or if the time was over
// before all were asked.
func (o markerObjects) sample(ctx context.Context, servers Servers, requests int) (answers []apiservers.Answer, behind bool, err error) {
	first := &firstSession{}
	for round := 1; len(answers) < requests && !apiservers.Distinct(answers, servers.Number); round = min(parallelRequests, requests-len(answers)) {
		answered := len(answers) > 0
		for _, r := range o.round(ctx, servers.Any, first, round) {
			if r.err != nil {
				err = r.err
			}
			behind = behind || r.err == nil && !r.observed
			answers = append(answers, r.answer)
		}
		if behind || err != nil {
			return nil, behind || answered && ctx.Err() != nil, err
		}
	}
	return answers, false, nil
}

type sampled struct {
	answer   apiservers.Answer
	observed bool
	err      error
}

func (o markerObjects) round(ctx context.Context, config *rest.Config, first *firstSession, size int) []sampled {
	results := make([]sampled, size)
	var asked sync.WaitGroup
	for i := range results {
		asked.Go(func() { results[i] = o.once(ctx, config, first) })
	}
	asked.Wait()
	return results
}

// once asks on a new connection.
func (o markerObjects) once(ctx context.Context, config *rest.Config, first *firstSession) (s sampled) {
	connection, err := newConnection(config, first)
	if err != nil {
		return sampled{err: err}
	}
	defer connection.close()
	s.observed, s.err = o.await(ctx, connection.client)
	if s.observed && s.err == nil {
		s.answer, s.err = connection.answer()
	}
	return s
}
