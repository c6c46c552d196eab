package reachability

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
)

// read asks all API servers at the same time, each at its own address.
func read(ctx context.Context, servers prober.Servers, known calls.Known) calls.Readings {
	readings := calls.Readings{Obstacle: servers.Obstacle, Read: map[string]calls.Reading{}, Unread: map[string]string{}}
	wanted := map[calls.Webhook]bool{}
	for webhook := range known {
		wanted[webhook] = true
	}
	var lock sync.Mutex
	var asked sync.WaitGroup
	for address, config := range servers.Each {
		asked.Go(func() {
			reading, err := readFrom(ctx, config, wanted)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				readings.Unread[address] = write.Text(err)
				return
			}
			readings.Read[address] = reading
		})
	}
	asked.Wait()
	return readings
}

// readFrom reads the metrics of one API server. Its connection stays open for the next time.
func readFrom(ctx context.Context, server *rest.Config, wanted map[calls.Webhook]bool) (calls.Reading, error) {
	client, err := rest.HTTPClientFor(server)
	if err != nil {
		return calls.Reading{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.Host+"/metrics", nil)
	if err != nil {
		return calls.Reading{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return calls.Reading{}, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return calls.Read(response.Body, wanted)
	case http.StatusUnauthorized, http.StatusForbidden:
		return calls.Reading{}, fmt.Errorf("%s: the manager needs the permission to get /metrics", response.Status)
	default:
		return calls.Reading{}, errors.New(response.Status)
	}
}
