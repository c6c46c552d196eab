package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// APIServerOrders are what a running node can be asked to do with one of its API servers.
var APIServerOrders = []struct{ Name, Effect string }{
	{"stop", "end it, after it has answered what it was asked"},
	{"start", "start it, and wait until it is ready"},
	{"restart", "stop and start it"},
	{"hold", "keep back the events that etcd sends to its watches, so that its caches are behind"},
	{"release", "let it have the events that hold keeps back"},
}

// APIServerState is what a node reports of one of its API servers.
type APIServerState struct {
	URL     string `json:"url"`
	Running bool   `json:"running"`
	Ready   bool   `json:"ready"`
	Held    bool   `json:"held"` // behind etcd
}

// APIServersPath is the path of the list of states. An order is sent to APIServersPath/NUMBER/ORDER.
const APIServersPath = "/api-servers"

// takeOrders serves the control socket until the node ends.
func (a *apiServers) takeOrders(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", a.supervisor.layout.Control())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+APIServersPath, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(a.states(r.Context())) // the client sees that the rest is missing
	})
	mux.HandleFunc("POST "+APIServersPath+"/{number}/{order}", func(w http.ResponseWriter, r *http.Request) {
		if err := a.obey(r.Context(), r.PathValue("number"), r.PathValue("order")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST "+ComponentsPath+"/{name}/{order}", func(w http.ResponseWriter, r *http.Request) {
		a.order.Lock()
		defer a.order.Unlock()
		if err := a.supervisor.obey(r.Context(), r.PathValue("name"), r.PathValue("order")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { logf("the control socket ended: %v", server.Serve(listener)) }()
	return nil
}

func (a *apiServers) states(ctx context.Context) []APIServerState {
	var states []APIServerState
	for _, s := range a.servers {
		states = append(states, APIServerState{
			URL:     s.url,
			Running: a.supervisor.runs(s.name),
			Ready:   s.client.Ready(ctx) == nil,
			Held:    s.link != nil && s.link.Held(),
		})
	}
	return states
}

func (a *apiServers) obey(ctx context.Context, number, order string) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(a.servers) {
		return fmt.Errorf("there is no API server %s: the cluster has %d", number, len(a.servers))
	}
	a.order.Lock()
	defer a.order.Unlock()
	logf("ordered: %s API server %d", order, n)
	s := a.servers[n-1]
	switch order {
	case "stop":
		return a.stop(ctx, s)
	case "start":
		return a.start(ctx, s)
	case "restart":
		return a.restart(ctx, s)
	case "hold", "release":
		return setHeld(s, order == "hold")
	default:
		return fmt.Errorf("there is no order %q", order)
	}
}

func setHeld(s *oneAPIServer, held bool) error {
	switch {
	case s.link == nil:
		return fmt.Errorf("the only API server of a cluster cannot be behind another one: bring up a cluster with several")
	case held:
		s.link.Hold()
	default:
		s.link.Release()
	}
	return nil
}
