package apiserver

import (
	"fmt"

	crdapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Decode returns a stored object, with the resourceVersion of its revision; nil for no value.
func Decode(stored *mvccpb.KeyValue) (*unstructured.Unstructured, error) {
	if stored == nil {
		return nil, nil
	}
	object, err := decode(stored.Value)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", stored.Key, err)
	}
	object.SetResourceVersion(fmt.Sprint(stored.ModRevision))
	return object, nil
}

func decode(value []byte) (*unstructured.Unstructured, error) {
	if len(value) > 0 && value[0] == '{' {
		object := &unstructured.Unstructured{}
		return object, object.UnmarshalJSON(value)
	}
	var last error
	for _, decoder := range []runtime.Decoder{
		legacyscheme.Codecs.UniversalDeserializer(), crdapiserver.Codecs.UniversalDeserializer(), aggregatorscheme.Codecs.UniversalDeserializer(),
	} {
		object, kind, err := decoder.Decode(value, nil, nil)
		if err != nil {
			last = err
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		result := &unstructured.Unstructured{Object: content}
		result.SetGroupVersionKind(*kind)
		return result, nil
	}
	return nil, last
}
