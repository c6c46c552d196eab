package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// server serves /judge, which requires a label, and /change, which adds one, over TLS with the
// certificate in a directory.
type server func(b *testing.B, host, certs string)

const port = "9443"

var errNoTeam = errors.New("the pod has no label team")

func startHosting(b *testing.B, host, certs string) {
	pods := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}
	builder := hosting.NewBuilder("bench")
	builder.RegisterWebhook("judge", hosting.Webhook{Kinds: pods, Handler: hosting.Validating(
		func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
			if r.Object.Labels["team"] == "" {
				return hosting.Deny("%v", errNoTeam)
			}
			return nil
		})})
	builder.RegisterWebhook("change", hosting.Webhook{Kinds: pods, Handler: hosting.Mutating(
		func(_ context.Context, r hosting.Request[*corev1.Pod]) error {
			r.Object.Labels["seen"] = "yes"
			return nil
		})})
	cmd := builder.Command()
	cmd.SetArgs([]string{"--bind-address=" + host, "--secure-port=" + port, "--cert-dir=" + certs, "--health-bind-address=", "--drain-period=0s"})
	run(b, cmd.ExecuteContext)
}

func startControllerRuntime(b *testing.B, host, certs string) {
	s := webhook.NewServer(webhook.Options{Host: host, Port: 9443, CertDir: certs})
	s.Register("/judge", admission.WithValidator[*corev1.Pod](scheme.Scheme, validator{}))
	s.Register("/change", admission.WithDefaulter[*corev1.Pod](scheme.Scheme, defaulter{}))
	run(b, s.Start)
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	if pod.Labels["team"] == "" {
		return nil, errNoTeam
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, pod *corev1.Pod) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, pod)
}

func (validator) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, nil
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, pod *corev1.Pod) error {
	pod.Labels["seen"] = "yes"
	return nil
}

// startNetHTTP starts a server without a framework: no metrics, no deadline and few checks. At
// /change it computes the patch like the others. At /change-by-hand the patch is a constant.
func startNetHTTP(b *testing.B, host, certs string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/judge", plain(func(_ []byte, pod *corev1.Pod, response *admissionv1.AdmissionResponse) {
		response.Allowed = pod.Labels["team"] != ""
		if !response.Allowed {
			response.Result = &metav1.Status{Message: errNoTeam.Error(), Code: http.StatusForbidden}
		}
	}))
	mux.HandleFunc("/change", plain(func(raw []byte, pod *corev1.Pod, response *admissionv1.AdmissionResponse) {
		pod.Labels["seen"] = "yes"
		patch, err := patchOf(raw, pod)
		if err != nil {
			response.Result = &metav1.Status{Message: err.Error(), Code: http.StatusInternalServerError}
			return
		}
		response.Allowed, response.PatchType, response.Patch = true, &patchType, patch
	}))
	mux.HandleFunc("/change-by-hand", plain(func(_ []byte, _ *corev1.Pod, response *admissionv1.AdmissionResponse) {
		response.Allowed, response.PatchType = true, &patchType
		response.Patch = []byte(`[{"op":"add","path":"/metadata/labels/seen","value":"yes"}]`)
	}))
	s := &http.Server{Addr: net.JoinHostPort(host, port), Handler: mux}
	run(b, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.ListenAndServeTLS(certs+"/tls.crt", certs+"/tls.key"); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

var patchType = admissionv1.PatchTypeJSONPatch

func patchOf(raw []byte, pod *corev1.Pod) ([]byte, error) {
	changed, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.CreatePatch(raw, changed)
	if err != nil {
		return nil, err
	}
	return json.Marshal(operations)
}

func plain(judge func(raw []byte, pod *corev1.Pod, response *admissionv1.AdmissionResponse)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 7<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		var pod corev1.Pod
		if err := json.Unmarshal(review.Request.Object.Raw, &pod); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID}
		judge(review.Request.Object.Raw, &pod, review.Response)
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func run(b *testing.B, serve func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Errorf("the server ended with: %v", err)
		}
	})
}
