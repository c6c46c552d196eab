package olmclient

import (
	"encoding/json"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/quantities"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/undecodable"
)

// refused replaces a quantity that takes hours to decode. The API server refuses it in a pod, and names the
// field.
const refused = "-1"

// lenientSerializer decodes objects of tenants of which Go types do not decode all.
type lenientSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns the decoder of all answers and of the objects of watch events.
func (s lenientSerializer) DecoderToVersion(d runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(d, version)}
}

type decoder struct{ runtime.Decoder }

// Decode leaves out what cannot be decoded. Otherwise, one object of a tenant would keep the objects of all from being read.
func (d decoder) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if quantities.Suspicious(text) {
		text = changed(text, refuse)
	}
	object, kind, err := d.Decoder.Decode(text, defaults, into)
	if err == nil {
		return object, kind, nil
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // A part of it may be decoded.
	}
	return d.Decoder.Decode(changed(text, leaveOut), defaults, into)
}

func refuse(object map[string]any, t reflect.Type) {
	for _, q := range quantities.Find(object, t, math.MaxInt) {
		q.Replace(refused)
	}
}

func leaveOut(object map[string]any, t reflect.Type) { undecodable.Remove(object, t) }

// changed is for OLM's kinds and the manager's own. Other texts are returned as they are.
func changed(text []byte, change func(map[string]any, reflect.Type)) []byte {
	var object map[string]any
	if strictjson.UnmarshalCaseSensitivePreserveInts(text, &object) != nil {
		return text // Decoding reports it.
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	typed, err := scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return text // It is no such kind, but a Status, for example.
	}
	change(object, reflect.TypeOf(typed).Elem())
	encoded, err := json.Marshal(object)
	if err != nil {
		return text
	}
	return encoded
}
