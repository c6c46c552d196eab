package hosting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

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

// Controllers and webhooks in one binary. With --webhooks=* it runs as one process. Run it with the
// defaults and with --controllers= --webhooks=* for two processes.
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

	for _, name := range []string{"controllers", "webhooks", "zones"} {
		f := b.Command().Flags().Lookup(name)
		fmt.Printf("--%s=%s: %s\n", f.Name, f.DefValue, f.Usage)
	}
	// Output:
	// --controllers=[*]: The controllers to run, of "labeler": * for all, NAME for one, -NAME to exclude one.
	// --webhooks=[]: The webhooks to run, of "volumes": * for all, NAME for one, -NAME to exclude one.
	// --zones=/etc/zones.yaml: file of the zones of volumes
}

func ExampleBuilder_DeregisterWebhook() {
	b := hosting.NewBuilder("shop")
	for _, name := range []string{"carts", "orders", "legacy"} {
		b.RegisterWebhook(name, hosting.Webhook{
			Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
			Handler: hosting.Validating(requireTeam),
		})
	}
	b.RegisterController("cleaner", func(context.Context, hosting.Environment) error { return nil })

	b.DeregisterWebhook("legacy")
	fmt.Println(b.Command().Flags().Lookup("webhooks").Usage)
	// Output:
	// The webhooks to run, of "carts" and "orders": * for all, NAME for one, -NAME to exclude one.
}

// A handler is tested over HTTP.
func ExampleNewHTTPHandler() {
	handler, err := hosting.NewHTTPHandler("pods", hosting.Webhook{
		Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Handler: hosting.Validating(requireTeam),
	})
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/pods", strings.NewReader(createPod))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	fmt.Println(response.Body)
	// Output:
	// {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"1","allowed":false,"status":{"metadata":{},"status":"Failure","message":"pod cart has no label team: say who owns it","reason":"Forbidden","code":403}}}
}

const createPod = `{
	"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
	"request": {
		"uid": "1", "operation": "CREATE", "kind": {"version": "v1", "kind": "Pod"},
		"object": {"metadata": {"name": "cart"}}
	}
}`

func ask(webhook hosting.Webhook, review string) []byte {
	handler, err := hosting.NewHTTPHandler("example", webhook)
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/example", strings.NewReader(review))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response.Body.Bytes()
}

// A denial may have any status.
func ExampleDenyStatus() {
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	answer := ask(hosting.Webhook{
		Kinds: []schema.GroupVersionKind{pod},
		Handler: hosting.Validating(func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
			missing := field.Required(field.NewPath("spec", "priorityClassName"), "say how important it is")
			return hosting.DenyStatus(apierrors.NewInvalid(pod.GroupKind(), r.Object.Name, field.ErrorList{missing}).ErrStatus)
		}),
	}, createPod)

	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		panic(err)
	}
	fmt.Println(review.Response.Result.Code, review.Response.Result.Message)
	// Output:
	// 422 Pod "cart" is invalid: spec.priorityClassName: Required value: say how important it is
}

// The JSON patch follows from the changed object.
func ExampleMutating() {
	answer := ask(hosting.Webhook{
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Operations: []admissionv1.Operation{admissionv1.Create},
		Handler: hosting.Mutating(func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
			if r.Object.Spec.PriorityClassName == "" {
				r.Object.Spec.PriorityClassName = "standard"
				r.Warn("pod %s has no priority class: it gets %s", r.Object.Name, "standard")
			}
			return nil
		}),
	}, createPod)

	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		panic(err)
	}
	fmt.Println(review.Response.Warnings[0])
	fmt.Println(string(review.Response.Patch))
	// Output:
	// pod cart has no priority class: it gets standard
	// [{"op":"add","path":"/spec","value":{"containers":null,"priorityClassName":"standard"}}]
}

// The metadata is copied before the functions run.
func ExampleConversion() {
	house := schema.GroupKind{Group: "house.example.com", Kind: "Window"}
	answer := ask(hosting.Webhook{
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
	}, `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
		"request": {
			"uid": "1", "desiredAPIVersion": "house.example.com/v2",
			"objects": [{"apiVersion": "house.example.com/v1", "kind": "Window", "metadata": {"name": "bay"}, "size": "2x1"}]
		}
	}`)

	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		panic(err)
	}
	fmt.Println(string(review.Response.ConvertedObjects[0].Raw))
	// Output:
	// {"kind":"Window","apiVersion":"house.example.com/v2","metadata":{"name":"bay"},"width":"2","height":"1"}
}
