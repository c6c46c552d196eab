package undecodable

import (
	"encoding/json"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

type part struct {
	Name string       `json:"name"`
	At   *metav1.Time `json:"at"`
}

type object struct {
	metav1.TypeMeta `json:",inline"`
	Time            metav1.Time        `json:"time"`
	Port            intstr.IntOrString `json:"port"`
	Count           int32              `json:"count"`
	Bytes           []byte             `json:"bytes"`
	Parts           []part             `json:"parts"`
	Labels          map[string]string  `json:"labels"`
	Any             any                `json:"any"`
	Part            part               `json:"part"`
}

func TestRemove(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string
		removed    int
	}{
		"all is decodable": {
			`{"kind": "A", "time": "2026-01-01T00:00:00Z", "port": "web", "count": 7, "bytes": "YQ==", "parts": [{"name": "a", "at": null}], "labels": {"a": "b"}, "any": [1], "part": null, "other": {"x": 1}}`,
			`{"any":[1],"bytes":"YQ==","count":7,"kind":"A","labels":{"a":"b"},"other":{"x":1},"part":null,"parts":[{"at":null,"name":"a"}],"port":"web","time":"2026-01-01T00:00:00Z"}`, 0,
		},
		"a time with small letters": {`{"time": "2026-01-01t00:00:00z", "kind": "A"}`, `{"kind":"A"}`, 1},
		"a time in a list":          {`{"parts": [{"name": "a", "at": "2026-01-01t00:00:00z"}]}`, `{"parts":[{"name":"a"}]}`, 1},
		"an item of another kind":   {`{"parts": ["a", {"name": "b"}]}`, `{"parts":[{"name":"b"}]}`, 1},
		"a list for a mapping":      {`{"labels": ["a"], "part": ["a"]}`, `{}`, 2},
		"a mapping for a list":      {`{"parts": {"a": "b"}}`, `{}`, 1},
		"a value of a mapping":      {`{"labels": {"a": 1, "b": "c"}}`, `{"labels":{"b":"c"}}`, 1},
		"a number that is too big":  {`{"count": 3000000000}`, `{}`, 1},
		"a text for a number":       {`{"count": "7", "port": true}`, `{}`, 2},
		"bytes that are none":       {`{"bytes": "%"}`, `{}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var document map[string]any
			installtest.Must(t, json.Unmarshal([]byte(test.text), &document))
			installtest.Same(t, "removed", test.removed, Remove(document, reflect.TypeFor[object]()))
			left := installtest.OrPanic(json.Marshal(document))
			installtest.Same(t, "the rest", test.want, string(left))
			installtest.Must(t, json.Unmarshal(left, new(object)))
		})
	}
}
