package olmclient

import (
	"encoding/json"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/quantities"
)

// refused replaces a quantity that takes hours to decode. The API server refuses it in a pod, and names the
// field.
const refused = "-1"

type boundedSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns the decoder of all answers and of the objects of watch events.
func (s boundedSerializer) DecoderToVersion(d runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(d, version)}
}

type decoder struct{ runtime.Decoder }

func (d decoder) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if quantities.Suspicious(text) {
		text = withRefused(text)
	}
	return d.Decoder.Decode(text, defaults, into)
}

// withRefused is for OLM's kinds. Other texts are returned as they are.
func withRefused(text []byte) []byte {
	var object map[string]any
	if strictjson.UnmarshalCaseSensitivePreserveInts(text, &object) != nil {
		return text // Decoding reports it.
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	typed, err := scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
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
