// Package olmclient is the client of OLM's kinds and the manager's own. No object of a tenant hangs it.
package olmclient

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Client has one REST client for each group and version.
type Client struct {
	manager           rest.Interface
	operatorsV1       rest.Interface
	operatorsV1alpha1 rest.Interface
}

// New does not connect: an error means an invalid configuration or an unreadable file.
func New(config *rest.Config) (*Client, error) {
	own := rest.CopyConfig(config)
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connection, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	plain := rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	c := &Client{}
	if c.manager, err = restClient(own, connection, managerv1alpha1.SchemeGroupVersion, plain); err != nil {
		return nil, err
	}
	if c.operatorsV1, err = restClient(own, connection, operatorsv1.SchemeGroupVersion, plain); err != nil {
		return nil, err
	}
	// Its kinds contain parts of pods, and these contain quantities.
	if c.operatorsV1alpha1, err = restClient(own, connection, operatorsv1alpha1.SchemeGroupVersion, boundedSerializer{plain}); err != nil {
		return nil, err
	}
	return c, nil
}

func restClient(config *rest.Config, connection *http.Client, version schema.GroupVersion, s runtime.NegotiatedSerializer) (rest.Interface, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion, own.APIPath, own.NegotiatedSerializer = &version, "/apis", s
	return rest.RESTClientForConfigAndClient(own, connection)
}
