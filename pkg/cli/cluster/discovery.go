package cluster

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Discovery returns a discovery client whose requests end with a context: its methods have none.
func Discovery(ctx context.Context, config *rest.Config) (*discovery.DiscoveryClient, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return endingWith(ctx, next) })
	return discovery.NewDiscoveryClientForConfig(config) //nolint:forbidigo // Its requests end with the context.
}

// isUnknownKind reports whether a list failed because the cluster does not know the kind, and returns any other error.
// API servers answer so to a user who may list the kind; for other users they answer "forbidden".
func (c *Cluster) isUnknownKind(ctx context.Context, failed error, kind schema.GroupVersionResource) (bool, error) {
	if apierrors.IsNotFound(failed) {
		return true, nil
	}
	client, err := Discovery(ctx, c.Config)
	if err != nil || !apierrors.IsForbidden(failed) {
		return false, failed
	}
	known, err := client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	isThere := func(r metav1.APIResource) bool { return r.Name == kind.Resource }
	if apierrors.IsNotFound(err) || err == nil && !slices.ContainsFunc(known.APIResources, isThere) {
		return true, nil
	}
	return false, failed
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// endingWith returns a RoundTripper whose requests and responses end with a context, and its waits for Retry-After,
// too: client-go waits with the context of the request.
func endingWith(ctx context.Context, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		bound, cancel := context.WithCancel(request.Context())
		stop := context.AfterFunc(ctx, cancel)
		release := func() { stop(); cancel() }
		response, err := next.RoundTrip(request.WithContext(bound))
		if err != nil {
			release()
			return nil, err
		}
		response.Body = releasingBody{response.Body, release}
		if err := waitForRetry(ctx, response); err != nil {
			response.Body.Close()
			return nil, err
		}
		return response, nil
	})
}

// waitForRetry waits as long as a response asks for, and lets client-go retry without a wait of its own.
func waitForRetry(ctx context.Context, response *http.Response) error {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	if seconds <= 0 {
		return nil
	}
	response.Header.Set("Retry-After", "0")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-response.Request.Context().Done():
		return response.Request.Context().Err()
	case <-time.After(time.Duration(seconds) * time.Second):
		return nil
	}
}

type releasingBody struct {
	io.ReadCloser

	release func()
}

func (b releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
