// Package olmclient creates the client for OLM's kinds and the manager's own. It decodes objects of
// tenants: no object hangs the client, independent of the schemas of the cluster's definitions.
package olmclient

import (
	"encoding/json"
	"math"
	"reflect"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/quantities"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset/scheme"
	typedv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset/typed/operators/v1alpha1"
)

// refused is decoded in place of a quantity that takes hours to decode. No field of a pod may be
// negative: the API server refuses the Deployment, and its answer names the field.
const refused = "-1"

// New returns the client of a configuration.
func New(config *rest.Config) (clientset.Interface, error) {
	all, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	operators, err := operatorsClient(config)
	return client{Interface: all, operators: operators}, err
}

// client has a client of its own for the kinds that contain parts of pods.
type client struct {
	clientset.Interface
	operators typedv1alpha1.OperatorsV1alpha1Interface
}

func (c client) OperatorsV1alpha1() typedv1alpha1.OperatorsV1alpha1Interface { return c.operators }

func operatorsClient(config *rest.Config) (typedv1alpha1.OperatorsV1alpha1Interface, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion, own.APIPath = &operatorsv1alpha1.SchemeGroupVersion, "/apis"
	own.NegotiatedSerializer = serializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	requests, err := rest.RESTClientFor(own)
	return typedv1alpha1.New(requests), err
}

type serializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns the decoder of all answers and of the objects of watch events.
func (s serializer) DecoderToVersion(d runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(d, version)}
}

type decoder struct{ runtime.Decoder }

func (d decoder) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if quantities.Suspicious(text) {
		text = withRefused(text)
	}
	return d.Decoder.Decode(text, defaults, into)
}

// withRefused returns an object of OLM's kinds, or a list of them, without undecodable quantities.
// Other texts are returned as they are.
func withRefused(text []byte) []byte {
	var object map[string]any
	if strictjson.UnmarshalCaseSensitivePreserveInts(text, &object) != nil {
		return text // Decoding reports it.
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return text // It is no kind of OLM, such as a Status.
	}
	for _, q := range quantities.Find(object, reflect.TypeOf(typed), math.MaxInt) {
		q.Replace(refused)
	}
	changed, err := json.Marshal(object)
	if err != nil {
		return text
	}
	return changed
}
