package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forward connects to a pod through the API server: an administrator's machine cannot dial it.
func (c *Cluster) forward(ctx context.Context, namespace, pod, address string) (net.Conn, error) {
	if pod == "" {
		return nil, errors.New("no pod is behind it, and the API server forwards to pods only")
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return c.dialPod(ctx, namespace, pod, port)
}

// dialPod connects to a port of a pod. If the kubelet cannot connect, the first read returns its error. The dialers of
// client-go take no context: when it ends, dialPod returns, and closes a connection that comes later.
func (c *Cluster) dialPod(ctx context.Context, namespace, pod, port string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := c.connect(namespace, pod, port)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.conn.Close()
			}
		}()
		return nil, fmt.Errorf("the API server did not forward port %s of pod %s/%s: %w", port, namespace, pod, ctx.Err())
	}
}

func (c *Cluster) connect(namespace, pod, port string) (net.Conn, error) {
	dialer, err := c.dialer(namespace, pod)
	if err != nil {
		return nil, err
	}
	tunnel, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, port)
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	errorStream, err := tunnel.CreateStream(headers)
	if err != nil {
		tunnel.Close()
		return nil, err
	}
	errorStream.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := tunnel.CreateStream(headers)
	if err != nil {
		tunnel.Close()
		return nil, err
	}
	return &forwarded{Stream: data, tunnel: tunnel, errors: errorStream}, nil
}

func (c *Cluster) dialer(namespace, pod string) (httpstream.Dialer, error) {
	url := c.Kube.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	tunnelled, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, c.Config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(tunnelled, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

type forwarded struct {
	httpstream.Stream
	tunnel httpstream.Connection
	errors io.Reader
}

var errForwarding = errors.New("the kubelet could not connect")

// Read reports why the other side ended the connection, if that is known.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.Stream.Read(b)
	if errors.Is(err, io.EOF) {
		if why, failed := io.ReadAll(f.errors); failed == nil && len(why) > 0 {
			return n, fmt.Errorf("%w: %s", errForwarding, why)
		}
	}
	return n, err
}

func (f *forwarded) Close() error                     { return f.tunnel.Close() }
func (f *forwarded) LocalAddr() net.Addr              { return through{} }
func (f *forwarded) RemoteAddr() net.Addr             { return through{} }
func (f *forwarded) SetDeadline(time.Time) error      { return nil } // the caller closes the connection
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

type through struct{}

func (through) Network() string { return "portforward" }
func (through) String() string  { return "the API server" }
