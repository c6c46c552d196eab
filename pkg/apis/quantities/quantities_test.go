package quantities

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const huge = "1.00000000000000000000000000000001e1000000000"

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		into any
		want []string
	}{
		"a limit":             {`{"spec":{"containers":[{},{"resources":{"limits":{"memory":"H","cpu":"1"}}}]}}`, corev1.Pod{}, []string{"spec.containers.1.resources.limits.memory"}},
		"a divisor":           {`{"spec":{"containers":[{"env":[{"value":"H"},{"valueFrom":{"resourceFieldRef":{"divisor":"H"}}}]}]}}`, corev1.Pod{}, []string{"spec.containers.0.env.1.valueFrom.resourceFieldRef.divisor"}},
		"a volume's size":     {`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"H"}}]}}`, corev1.Pod{}, []string{"spec.volumes.0.emptyDir.sizeLimit"}},
		"text is no quantity": {`{"metadata":{"annotations":{"limits":"H"}},"spec":{"limits":{"memory":"H"}}}`, corev1.Pod{}, nil},
		"many digits":         {`{"spec":{"overhead":{"memory":"` + strings.Repeat("1", 65) + `"}}}`, corev1.Pod{}, []string{"spec.overhead.memory"}},
		"usual quantities":    {`{"spec":{"overhead":{"a":"1e99","b":"1Gi","c":5,"d":"1E+3"}}}`, corev1.Pod{}, nil},
		"wrong types":         {`{"spec":[{"overhead":"H"},"H",1,null]}`, corev1.Pod{}, nil},
		"a list of objects":   {`{"items":[{"spec":{"config":{"resources":{"requests":{"b":"H","a":"H"}}}}}]}`, operatorsv1alpha1.SubscriptionList{}, []string{"items.0.spec.config.resources.requests.a", "items.0.spec.config.resources.requests.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(c.text, "H", huge)
			var document any
			installtest.Must(t, json.Unmarshal([]byte(text), &document))
			if len(c.want) > 0 && !Suspicious([]byte(text)) {
				t.Error("the text is not suspicious")
			}
			var got []string
			for _, q := range Find(document, reflect.TypeOf(c.into), 10) {
				got = append(got, strings.Join(q.Path, "."))
				q.Replace("0")
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			if left := Find(document, reflect.TypeOf(c.into), 10); len(left) > 0 {
				t.Errorf("%v is left after its replacement", left[0].Path)
			}
		})
	}
}

func TestFindEndsAtItsLimit(t *testing.T) {
	document := map[string]any{"a": huge, "b": huge, "c": huge}
	installtest.Same(t, "quantities that are found of 3, with a limit of 2", 2, len(Find(document, reflect.TypeFor[corev1.ResourceList](), 2)))
}

func TestSuspicious(t *testing.T) {
	for text, want := range map[string]bool{
		`"1e999"`: true, `"+.5E-100"`: true, `"` + strings.Repeat("7", 65) + `"`: true,
		`"1e99"`: false, `"512Mi"`: false, `"sha256:1e999"`: false, `1e999`: false,
	} {
		installtest.Same(t, text+" is suspicious", want, Suspicious([]byte(`{"a":`+text+`}`)))
	}
}

func BenchmarkSuspicious(b *testing.B) {
	text := []byte(strings.Repeat(`{"name":"pods.shop.example.com","port":443,"digest":"sha256:0123e4567"},`, 10_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Suspicious(text) {
			b.Fatal("it has no quantity")
		}
	}
}
