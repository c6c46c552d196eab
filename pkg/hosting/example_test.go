package hosting_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// A webhook, whole.
func Example() {
	b := hosting.NewBuilder("team-label")
	b.RegisterWebhook("pods", hosting.Webhook{
		Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Handler: hosting.Validating(requireTeam),
	})
	os.Exit(b.Run())
}

func requireTeam(_ context.Context, r hosting.Request[*corev1.Pod]) error {
	if r.Object.Labels["team"] == "" {
		return hosting.Deny("pod %s has no label team: say who owns it", r.Object.Name)
	}
	return nil
}

// Controllers and webhooks in one binary. Run with --webhooks=* it is one process; run
// once with the defaults and once with --controllers= --webhooks=* it is two.
func ExampleBuilder() {
	b := hosting.NewBuilder("volumelabels")
	zones := b.Flags().String("zones", "/etc/zones.yaml", "file of the zones of volumes")
	b.RegisterController("labeler", func(ctx context.Context, env hosting.Environment) error {
		fmt.Println("labelling with", *zones, "as", env.Config.UserAgent)
		<-ctx.Done()
		return nil
	})
	b.RegisterWebhook("volumes", hosting.Webhook{
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("PersistentVolume")},
		Operations: []admissionv1.Operation{admissionv1.Create},
		Handler: hosting.Mutating(func(_ context.Context, r hosting.Request[*corev1.PersistentVolume]) error {
			r.Object.Labels = map[string]string{corev1.LabelTopologyZone: "eu-1"}
			return nil
		}),
	})
	os.Exit(b.Run())
}

// A handler is tested as what it is: something that is called over HTTP.
func ExampleNewHTTPHandler() {
	handler, err := hosting.NewHTTPHandler("pods", hosting.Webhook{
		Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Handler: hosting.Validating(requireTeam),
	})
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/pods", strings.NewReader(`{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": {
			"uid": "1", "operation": "CREATE", "kind": {"version": "v1", "kind": "Pod"},
			"object": {"metadata": {"name": "cart"}}
		}
	}`))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	fmt.Println(response.Body)
	// Output:
	// {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"1","allowed":false,"status":{"metadata":{},"status":"Failure","message":"pod cart has no label team: say who owns it","reason":"Forbidden","code":403}}}
}

// The handler changes the object; the JSON patch follows from that.
func ExampleMutating() {
	handler := hosting.Mutating(func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
		if r.Object.Spec.PriorityClassName == "" {
			r.Object.Spec.PriorityClassName = "standard"
			r.Warn("pod %s has no priority class: it gets %s", r.Object.Name, "standard")
		}
		return nil
	})
	b := hosting.NewBuilder("priorities")
	b.RegisterWebhook("pods", hosting.Webhook{
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Operations: []admissionv1.Operation{admissionv1.Create},
		Handler:    handler,
	})
	os.Exit(b.Run())
}

// The versions of a CustomResourceDefinition, of which v2 is the hub. Names, labels and
// all other metadata are copied already.
func ExampleConversion() {
	house := schema.GroupKind{Group: "house.example.com", Kind: "Window"}
	b := hosting.NewBuilder("windows")
	b.RegisterWebhook("convert", hosting.Webhook{
		Handler: hosting.Conversion(house.WithVersion("v2"),
			hosting.Spoke(house.WithVersion("v1"),
				func(from, to *window) error {
					to.Width, to.Height, _ = strings.Cut(from.Size, "x")
					return nil
				},
				func(from, to *window) error {
					to.Size = from.Width + "x" + from.Height
					return nil
				}),
		),
	})
	os.Exit(b.Run())
}
