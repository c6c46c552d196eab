package cluster

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// maxClockRead is how long the request for the time of the API server may take: the longer it takes, the less is known.
const maxClockRead = 2 * time.Second

// clockAhead returns how much later the clock of the API server is than that of this machine; nil if it is not known.
// The API server reports whole seconds.
func (c *Cluster) clockAhead(ctx context.Context) *time.Duration {
	ctx, cancel := context.WithTimeout(ctx, maxClockRead)
	defer cancel()
	sent := time.Now()
	reported, err := c.serverTime(ctx)
	if err != nil {
		return nil
	}
	middle := sent.Add(time.Since(sent) / 2)
	ahead := reported.Add(time.Second / 2).Sub(middle)
	return &ahead
}

func (c *Cluster) serverTime(ctx context.Context) (time.Time, error) {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return time.Time{}, err
	}
	server, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return time.Time{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}
