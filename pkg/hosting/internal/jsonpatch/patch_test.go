package jsonpatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	sigsjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// The API server sends fields of a later version: novel in the metadata, the spec and each container.
const sentPod = `{
	"apiVersion": "v1", "kind": "Pod",
	"metadata": {"name": "p", "novel": {"a": 1}},
	"spec": {
		"novel": "kept", "nodeName": "",
		"containers": [
			{"name": "one", "image": "a", "novel": 1, "resources": {"limits": {"cpu": "1000m"}}},
			{"name": "two", "image": "b", "novel": 2}
		],
		"tolerations": [{"key": "x", "novel": true}]
	}
}`

func TestPatch(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"no change": {
			func(*corev1.Pod) {}, ``,
		},
		"first label": {
			func(p *corev1.Pod) { p.Labels = map[string]string{"a/b~c": "x"} },
			`[{"op":"add","path":"/metadata/labels","value":{"a/b~c":"x"}}]`,
		},
		"a name to escape": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Limits["a/b~c"] = resource.MustParse("1")
			},
			`[{"op":"add","path":"/spec/containers/0/resources/limits/a~1b~0c","value":"1"}]`,
		},
		"a value that was sent empty": {
			func(p *corev1.Pod) { p.Spec.NodeName = "n" },
			`[{"op":"replace","path":"/spec/nodeName","value":"n"}]`,
		},
		"a value that was not sent, in a struct that was not sent": {
			func(p *corev1.Pod) {
				p.Spec.Containers[1].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
			},
			`[{"op":"add","path":"/spec/containers/1/resources","value":{"limits":{"cpu":"1"}}}]`,
		},
		"a value set to nothing": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Image = "" },
			`[{"op":"remove","path":"/spec/containers/0/image"}]`,
		},
		"an element at the end, and one changed": {
			func(p *corev1.Pod) {
				p.Spec.Containers[1].Image = "c"
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "three"})
			},
			`[{"op":"replace","path":"/spec/containers/1/image","value":"c"},
			  {"op":"add","path":"/spec/containers/-","value":{"name":"three","resources":{}}}]`,
		},
		"the last elements gone": {
			func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
			`[{"op":"remove","path":"/spec/containers/1"}]`,
		},
		"all elements gone": {
			func(p *corev1.Pod) { p.Spec.Tolerations = nil },
			`[{"op":"remove","path":"/spec/tolerations"}]`,
		},
		"an element at the beginning: the others stay whole": {
			func(p *corev1.Pod) {
				p.Spec.Containers[1].Image = "c"
				p.Spec.Containers = append([]corev1.Container{{Name: "zero"}}, p.Spec.Containers...)
			},
			`[{"op":"replace","path":"/spec/containers","value":[
				{"name":"zero","resources":{}},
				{"name":"one","image":"a","novel":1,"resources":{"limits":{"cpu":"1000m"}}},
				{"name":"two","image":"c","novel":2}]}]`,
		},
		"the first element gone: the other stays whole": {
			func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[1:] },
			`[{"op":"replace","path":"/spec/containers","value":[{"name":"two","image":"b","novel":2}]}]`,
		},
		"a changed element without a name": {
			func(p *corev1.Pod) { p.Spec.Tolerations[0].Key = "y" },
			`[{"op":"replace","path":"/spec/tolerations/0/key","value":"y"}]`,
		},
		"an element without a name at the beginning: the other stays whole": {
			func(p *corev1.Pod) {
				p.Spec.Tolerations = append([]corev1.Toleration{{Key: "y"}}, p.Spec.Tolerations...)
			},
			`[{"op":"replace","path":"/spec/tolerations","value":[{"key":"y"},{"key":"x","novel":true}]}]`,
		},
		"another element in the place of one": {
			func(p *corev1.Pod) { p.Spec.Containers[1] = corev1.Container{Name: "other"} },
			`[{"op":"replace","path":"/spec/containers","value":[
				{"name":"one","image":"a","novel":1,"resources":{"limits":{"cpu":"1000m"}}},
				{"name":"other","resources":{}}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := patchOf(t, sentPod, test.change)
			hostingtest.Same(t, "the patch differs", parsed(t, test.want), parsed(t, string(got)))
			if got != nil {
				checkPatch(t, sentPod, got, test.change)
			}
		})
	}
}

// Comparing all elements of a long list with all would take hours.
func TestPatchOfALongList(t *testing.T) {
	const length = 100_000
	var list []string
	for i := range length {
		list = append(list, fmt.Sprintf(`{"key":"k%d","novel":%d}`, i, i))
	}
	sent := `{"metadata":{"name":"p"},"spec":{"tolerations":[` + strings.Join(list, ",") + `]}}`
	for name, change := range map[string]func(*corev1.PodSpec){
		"one at the beginning": func(s *corev1.PodSpec) {
			s.Tolerations = append([]corev1.Toleration{{Key: "new"}}, s.Tolerations...)
		},
		"one at the beginning and one at the end": func(s *corev1.PodSpec) {
			s.Tolerations = append(append([]corev1.Toleration{{Key: "new"}}, s.Tolerations...), corev1.Toleration{Key: "last"})
		},
		"all in the opposite order": func(s *corev1.PodSpec) { slices.Reverse(s.Tolerations) },
	} {
		t.Run(name, func(t *testing.T) {
			got := patchOf(t, sent, func(p *corev1.Pod) { change(&p.Spec) })
			var operations []struct {
				Value []struct {
					Key   string
					Novel int
				}
			}
			hostingtest.Must(t, json.Unmarshal(got, &operations))
			kept := 0
			for _, e := range operations[0].Value {
				if e.Key == fmt.Sprintf("k%d", e.Novel) {
					kept++
				}
			}
			if len(operations) != 1 || kept != length {
				t.Errorf("%d operations keep %d of %d elements whole", len(operations), kept, length)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	named := func(name string, value any) any { return map[string]any{"name": name, "value": value} }
	for name, test := range map[string]struct {
		was, is []any
		want    []int
	}{
		"nothing":                        {nil, nil, []int{}},
		"all new":                        {nil, []any{"a"}, []int{isNew}},
		"all gone":                       {[]any{"a"}, nil, []int{}},
		"the same":                       {[]any{"a", "b"}, []any{"a", "b"}, []int{0, 1}},
		"one before":                     {[]any{"a", "b"}, []any{"x", "a", "b"}, []int{isNew, 0, 1}},
		"one before and one after":       {[]any{"a", "b"}, []any{"x", "a", "b", "y"}, []int{isNew, 0, 1, isNew}},
		"equal ones, each once":          {[]any{"a", "a"}, []any{"a", "a", "a"}, []int{0, 1, isNew}},
		"equal ones, fewer":              {[]any{"a", "a", "a"}, []any{"a", "a"}, []int{0, 1}},
		"equal ones stay in their place": {[]any{"p", "a", "q", "a", "r"}, []any{"P", "b", "Q", "a", "R"}, []int{0, 1, 2, 3, 4}},
		"the opposite order":             {[]any{"a", "b", "c"}, []any{"c", "b", "a"}, []int{2, 1, 0}},
		"equality before a name":         {[]any{named("n", 1), named("n", 2)}, []any{named("n", 2), named("n", 3)}, []int{1, 0}},
		"a name elsewhere": {
			[]any{named("m", 1), named("n", 1), named("o", 1)}, []any{named("n", 2), named("o", 2), named("p", 2)}, []int{1, 2, isNew},
		},
		"another name in its place": {[]any{named("m", 1)}, []any{named("n", 1)}, []int{isNew}},
		"no names: by place":        {[]any{1, 2}, []any{3, 4, 5}, []int{0, 1, isNew}},
	} {
		hostingtest.Same(t, name+": the result", test.want, origins(test.was, test.is))
	}
}

func patchOf(t *testing.T, sent string, change func(*corev1.Pod)) []byte {
	t.Helper()
	before, after := &corev1.Pod{}, &corev1.Pod{}
	hostingtest.Must(t, sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(sent), before))
	before.DeepCopyInto(after)
	change(after)
	got, err := ForReview(fmt.Appendf(nil, `{"request":{"object":%s}}`, sent), before, after)
	hostingtest.Must(t, err)
	return got
}

// checkPatch applies the patch with the code of API servers.
func checkPatch(t *testing.T, sent string, patch []byte, change func(*corev1.Pod)) {
	t.Helper()
	result := apply(t, []byte(sent), patch)
	want, got := &corev1.Pod{}, &corev1.Pod{}
	hostingtest.Must(t, sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(sent), want))
	change(want)
	hostingtest.Must(t, sigsjson.UnmarshalCaseSensitivePreserveInts(result, got))
	hostingtest.Same(t, "the patched object differs from the handler's", inJSON(t, want), inJSON(t, got))
}

func apply(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	hostingtest.Must(t, err)
	result, err := decoded.Apply(object)
	if err != nil {
		t.Fatalf("the patch %s does not apply to %s: %v", patch, object, err)
	}
	return result
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	hostingtest.Must(t, err)
	return string(text)
}

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if text == "" {
		return nil
	}
	hostingtest.Must(t, json.Unmarshal([]byte(text), &value))
	return value
}

// FuzzPatch applies the patch between two objects, which must return the second one.
func FuzzPatch(f *testing.F) {
	f.Add(sentPod, `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"two"},{"name":"one"}]}}`)
	f.Add(`{"a":[1,2,{"name":"x"}],"b":null}`, `{"a":[{"name":"x","y":1},2,null],"c":[]}`)
	f.Add(`{"a":{"b":[[1],[2]]}}`, `{"a":{"b":[[2],[1,3]]}}`)
	f.Add(`{}`, `{"a":1E3}`)
	f.Fuzz(func(t *testing.T, from, to string) {
		var was, is map[string]any
		if sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(from), &was) != nil || sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(to), &is) != nil {
			t.Skip("no two objects")
		}
		var p patch
		p.fields("", text(strings.TrimSpace(from)), was, is)
		encoded, err := json.Marshal(p)
		hostingtest.Must(t, err)
		original, err := json.Marshal(was)
		hostingtest.Must(t, err)
		var got map[string]any
		hostingtest.Must(t, sigsjson.UnmarshalCaseSensitivePreserveInts(apply(t, original, encoded), &got))
		hostingtest.Same(t, fmt.Sprintf("%s on %s", encoded, original), inJSON(t, is), inJSON(t, got)) // 1E3 and 1000 are equal
	})
}
