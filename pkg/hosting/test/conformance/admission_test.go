package conformance

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var configMaps = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}

func obey(ctx context.Context, r hosting.Request[*corev1.ConfigMap]) error {
	object := r.Object
	if r.Operation == admissionv1.Delete {
		object = r.OldObject
	}
	switch object.Data["do"] {
	case "stay":
		if r.Operation == admissionv1.Delete {
			return hosting.Deny("ConfigMap %s is to stay", object.Name)
		}
	case "deny":
		return hosting.Deny("ConfigMap %s asked for it", object.Name)
	case "invalid":
		return hosting.DenyStatus(metav1.Status{Message: "that is not valid", Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
	case "warn":
		r.Warn("mind the %s", "gap")
		r.Annotate("verdict", "with a warning")
	case "label":
		object.Labels = map[string]string{"by/hosting": "yes"}
		delete(object.Data, "secret")
		object.BinaryData = map[string][]byte{"b": {0, 255}}
	case "fail":
		return errors.New("the lookup failed")
	case "panic":
		panic("oops")
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// obeying returns a webhook for all operations on the ConfigMaps of a namespace.
func obeying(form func(func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler, namespace string) hosting.Webhook {
	return hosting.Webhook{
		Kinds:      configMaps,
		Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Handler:    form(obey),
		Registration: hosting.Registration{
			FailurePolicy:     admissionregistrationv1.Fail,
			NamespaceSelector: selecting(namespace),
		},
	}
}

func TestValidating(t *testing.T) {
	namespace, _ := newNamespace(t, "validating")
	start(t, judgingIn(namespace), "--register-webhooks")
	var seen warnings
	client := newClient(t, &seen)
	waitUntilCalled(t, client, namespace)

	t.Run("allow", func(t *testing.T) {
		if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing("allow"), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	for do, want := range map[string]metav1.Status{
		"deny":    {Code: 403, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "judge.` + namespace + `.hosting" denied the request: ConfigMap deny asked for it`},
		"invalid": {Code: 422, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "judge.` + namespace + `.hosting" denied the request: that is not valid`},
		"fail":    {Code: 500, Reason: metav1.StatusReasonInternalError, Message: `Internal error occurred: failed calling webhook "judge.` + namespace + `.hosting": failed to call webhook: the lookup failed`},
		"panic":   {Code: 500, Reason: metav1.StatusReasonInternalError, Message: `Internal error occurred: failed calling webhook "judge.` + namespace + `.hosting": failed to call webhook: the handler panicked: oops`},
	} {
		t.Run(do, func(t *testing.T) {
			_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing(do), metav1.CreateOptions{})
			var status apierrors.APIStatus
			if !errors.As(err, &status) {
				t.Fatalf("got %v", err)
			}
			got := status.Status()
			if got.Code != want.Code || got.Reason != want.Reason || got.Message != want.Message {
				t.Errorf("got %d %s: %s\nwant %d %s: %s", got.Code, got.Reason, got.Message, want.Code, want.Reason, want.Message)
			}
		})
	}
	t.Run("warn and annotate", func(t *testing.T) {
		place := logEnd(t)
		seen.take()
		kube.Create(t, client.CoreV1().ConfigMaps(namespace), doing("warn"))
		hostingtest.Same(t, "warnings", []string{"mind the gap"}, seen.take())
		waitForAnnotation(t, place, "judge."+namespace+".hosting/verdict", "with a warning")
	})
	t.Run("delete", func(t *testing.T) {
		configMaps := client.CoreV1().ConfigMaps(namespace)
		for do, wantDenied := range map[string]bool{"go": false, "stay": true} {
			kube.Create(t, configMaps, doing(do))
			if err := configMaps.Delete(t.Context(), do, metav1.DeleteOptions{}); apierrors.IsForbidden(err) != wantDenied || err != nil && !wantDenied {
				t.Errorf("deleting %s: %v", do, err)
			}
		}
	})
	t.Run("dry run", func(t *testing.T) {
		if err := dryRun(t.Context(), client, namespace, "deny"); !apierrors.IsForbidden(err) {
			t.Errorf("a dry run went by the webhook: %v", err)
		}
	})
}

func TestMutating(t *testing.T) {
	namespace, client := newNamespace(t, "mutating")
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("change", obeying(hosting.Mutating[*corev1.ConfigMap], namespace))
	start(t, b, "--register-webhooks")
	waitUntilCalled(t, client, namespace)

	object := doing("label")
	object.Data["secret"] = "x"
	object.Annotations = map[string]string{"by/author": "kept"}
	got, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	hostingtest.Must(t, err)
	want := object.DeepCopy()
	want.Labels = map[string]string{"by/hosting": "yes"}
	want.Data = map[string]string{"do": "label"}
	want.BinaryData = map[string][]byte{"b": {0, 255}}
	got.ObjectMeta = metav1.ObjectMeta{Name: got.Name, Labels: got.Labels, Annotations: got.Annotations}
	want.TypeMeta, got.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	hostingtest.Same(t, "stored", want, got)

	_, err = client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing("deny"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ConfigMap deny asked for it") {
		t.Errorf("got %v", err)
	}
}

func TestV1beta1(t *testing.T) {
	namespace, client := newNamespace(t, "v1beta1")
	w := obeying(hosting.Validating[*corev1.ConfigMap], namespace)
	w.V1beta1 = true
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", w)
	start(t, b, "--register-webhooks")
	waitUntilCalled(t, client, namespace)

	place := logEnd(t)
	patch := []byte(`[{"op":"replace","path":"/webhooks/0/admissionReviewVersions","value":["v1beta1"]},
		{"op":"replace","path":"/webhooks/0/name","value":"old.` + namespace + `.hosting"}]`)
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(
		t.Context(), namespace+"-judge", types.JSONPatchType, patch, metav1.PatchOptions{})
	hostingtest.Must(t, err)
	hostingtest.Eventually(t, "the API server asks in v1beta1 and is answered", func() bool {
		err := dryRun(t.Context(), client, namespace, "deny")
		return err != nil && strings.Contains(err.Error(), `webhook "old.`+namespace+`.hosting" denied the request: ConfigMap deny asked for it`)
	})
	kube.Create(t, client.CoreV1().ConfigMaps(namespace), doing("warn"))
	waitForAnnotation(t, place, "old."+namespace+".hosting/verdict", "with a warning")
}

// waiting is a call whose handler waits.
type waiting struct {
	name            string
	began, deadline time.Time
}

// After the timeout of the registration, the failurePolicy decides.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for policy, wantErr := range map[admissionregistrationv1.FailurePolicyType]string{
		admissionregistrationv1.Ignore: "",
		admissionregistrationv1.Fail:   "context deadline exceeded",
	} {
		t.Run(string(policy), func(t *testing.T) {
			namespace, client := newNamespace(t, "timeout-"+strings.ToLower(string(policy)))
			var last atomic.Pointer[waiting]
			w := obeying(func(judge func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler {
				return hosting.Validating(func(ctx context.Context, r hosting.Request[*corev1.ConfigMap]) error {
					if r.Object.Data["do"] == "wait" {
						deadline, _ := ctx.Deadline()
						last.Store(&waiting{r.Object.Name, time.Now(), deadline})
					}
					return judge(ctx, r)
				})
			}, namespace)
			w.Registration.TimeoutSeconds = 2
			w.Registration.FailurePolicy = policy
			b := hosting.NewBuilder(namespace)
			b.RegisterWebhook("slow", w)
			start(t, b, "--register-webhooks")
			waitUntilCalled(t, client, namespace)

			object := doing("wait")
			// A busy machine may not call the handler in time: another call is made.
			hostingtest.Eventually(t, "the handler is called", func() bool {
				object.Name += "-again"
				sent := time.Now()
				_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
					t.Errorf("got %v, want %q", err, wantErr)
				}
				w := last.Load()
				if w == nil || w.name != object.Name {
					return false
				}
				if w.deadline.Sub(sent) < 2*time.Second || w.deadline.Sub(w.began) > 2*time.Second {
					t.Errorf("of 2 s, the handler was given %s, %s after the call was sent", w.deadline.Sub(w.began), w.began.Sub(sent))
				}
				return true
			})
		})
	}
}
