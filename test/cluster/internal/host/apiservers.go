package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// OrderAPIServer asks the running cluster for one of node.APIServerOrders, and returns when it is done.
func OrderAPIServer(ctx context.Context, run, order, number string) error {
	state := Observe(ctx, run)
	if state.Phase != Up {
		return notUp(state)
	}
	_, err := askNode(ctx, state.Layout, http.MethodPost, node.APIServersPath+"/"+number+"/"+order)
	return err
}

// OrderComponent asks the node for one of node.ComponentOrders. The cluster need not be up: it is not without its kubelet.
func OrderComponent(ctx context.Context, run, order, name string) error {
	layout, err := node.Open(run)
	if err != nil {
		return err
	}
	_, err = askNode(ctx, layout, http.MethodPost, node.ComponentsPath+"/"+name+"/"+order)
	return err
}

// APIServers returns the states of the API servers, by number: that of the first has the index 0.
func APIServers(ctx context.Context, l node.Layout) ([]node.APIServerState, error) {
	body, err := askNode(ctx, l, http.MethodGet, node.APIServersPath)
	if err != nil {
		return nil, err
	}
	var states []node.APIServerState
	err = json.Unmarshal(body, &states)
	return states, err
}

// allReady returns an error if an API server is not ready.
func allReady(ctx context.Context, l node.Layout) error {
	states, err := APIServers(ctx, l)
	if err != nil {
		return err
	}
	for i, state := range states {
		if !state.Ready {
			return fmt.Errorf("API server %d is not ready", i+1)
		}
	}
	return nil
}

// askNode sends a request to the control socket of the node. It has no limit of time: a restart takes seconds.
func askNode(ctx context.Context, l node.Layout, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://node"+path, nil)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", l.Control())
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", bytes.TrimSpace(body))
	}
	return body, nil
}
