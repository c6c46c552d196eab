// Package discovery asks the API server what it serves.
package discovery

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// APIServer asks the API server what it serves.
type APIServer struct {
	Version   *Questions[string, string]                            // its version, by path
	Resources *Questions[schema.GroupVersion, []metav1.APIResource] // of each version of a group
}

// NewAPIServer asks in the background. wake queues what was reconciled without an answer that has come since.
func NewAPIServer(client discovery.DiscoveryInterface, log *logrus.Entry, wake func(queue.Key)) APIServer {
	return APIServer{
		Version: newQuestions(func(ctx context.Context, path string) (string, error) {
			answer, err := kubernetesVersion(ctx, client.RESTClient(), path)
			if err != nil {
				log.WithError(err).Warn("cannot see the version of the API server")
			}
			return answer, err
		}, wake),
		Resources: newQuestions(func(ctx context.Context, group schema.GroupVersion) ([]metav1.APIResource, error) {
			resources, err := servedResources(ctx, client.RESTClient(), group)
			if err != nil {
				log.WithError(err).WithField("api", group.String()).Warn("cannot see which kinds are served")
			}
			return resources, err
		}, wake),
	}
}

func kubernetesVersion(ctx context.Context, client rest.Interface, path string) (string, error) {
	body, err := client.Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var info version.Info
	err = json.Unmarshal(body, &info)
	return info.String(), err
}

// A version that the API server does not know, or whose own server is not available, has no resources.
func servedResources(ctx context.Context, client rest.Interface, group schema.GroupVersion) ([]metav1.APIResource, error) {
	var list metav1.APIResourceList
	err := client.Get().AbsPath(requirements.DiscoveryPath(group)).Do(ctx).Into(&list)
	if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
		return nil, nil
	}
	return list.APIResources, err
}

// HasKind reports whether a kind is among some resources.
func HasKind(resources []metav1.APIResource, kind string) bool {
	return slices.ContainsFunc(resources, func(r metav1.APIResource) bool { return r.Kind == kind })
}
