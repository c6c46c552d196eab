// Package api asks the API server the few questions that bringing a cluster up needs
// answered, with the standard library alone.
package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Client talks to one API server as one user.
type Client struct {
	server string
	http   http.Client
}

// New reads the authority and the user's certificate from files.
func New(server, authorityFile, certFile, keyFile string) (*Client, error) {
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		return nil, err
	}
	trust := x509.NewCertPool()
	if !trust.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", authorityFile)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &Client{
		server: server,
		http: http.Client{
			Timeout: 2 * time.Second,
			// No proxy: the address exists on this machine only, independent of the value of HTTPS_PROXY.
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{pair}}},
		},
	}, nil
}

// Ready returns nil when the API server is ready.
func (c *Client) Ready(ctx context.Context) error { return c.Exists(ctx, "/readyz") }

// Exists returns nil if there is an object at the path.
func (c *Client) Exists(ctx context.Context, path string) error {
	_, err := c.get(ctx, path)
	return err
}

// NodeReady returns nil if the node's kubelet reports it Ready.
func (c *Client) NodeReady(ctx context.Context, name string) error {
	body, err := c.get(ctx, "/api/v1/nodes/"+name)
	if err != nil {
		return err
	}
	return nodeReady(body)
}

func nodeReady(body []byte) error {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status != "True" {
			return fmt.Errorf("the node's condition Ready is %s: %s", condition.Status, condition.Message)
		}
		return nil
	}
	return fmt.Errorf("the node has no condition Ready yet")
}

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %s", path, response.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

const pollEvery = 100 * time.Millisecond

// Poll asks until the answer is nil or the context ends. Then it returns the cause of the context, if one was
// given, and otherwise the last answer.
func Poll(ctx context.Context, ask func(context.Context) error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
				return cause
			}
			return last
		case <-ticker.C:
		}
	}
}
