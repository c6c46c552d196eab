package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/webhooktest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// TestWebhook creates each PersistentVolume while the provider has two labels for the volume vol-1.
func TestWebhook(t *testing.T) {
	type labels = map[string]string
	provider := known{{Driver: "d", Handle: "vol-1"}: {"region": "cold", "zone": "north"}}

	for name, test := range map[string]struct {
		volume       *corev1.PersistentVolume
		want         labels
		wantWarnings []string
	}{
		"all labels are missing": {volume("pv", "vol-1", nil), labels{"region": "cold", "zone": "north"}, nil},
		"one is missing":         {volume("pv", "vol-1", labels{"zone": "north", "mine": "stays"}), labels{"region": "cold", "zone": "north", "mine": "stays"}, nil},
		"none is missing":        {volume("pv", "vol-1", labels{"zone": "north", "region": "cold"}), labels{"region": "cold", "zone": "north"}, nil},
		"one differs, and stays": {
			volume("pv", "vol-1", labels{"zone": "south"}), labels{"region": "cold", "zone": "south"},
			[]string{`label zone stays "south", though the volume's is "north"`},
		},
		"nothing is known of the volume": {
			volume("pv", "vol-9", labels{"mine": "stays"}), labels{"mine": "stays"},
			[]string{`not labelled: nothing is known of volume "vol-9" of d`},
		},
		"no volume of a CSI driver": {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "local"}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			review, before := creationOf(t, test.volume)
			answer := webhooktest.Review(t, newWebhook(provider), review)

			after := patched(t, before, answer.Response.Patch)
			installtest.Same(t, "labels", test.want, after.Labels)
			after.Labels = test.volume.Labels
			installtest.Same(t, "more than labels is changed", test.volume, after)
			answer.Response.Patch, answer.Response.PatchType = nil, nil
			want := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: test.wantWarnings}
			installtest.Same(t, "the rest of the answer", want, answer.Response)
		})
	}
}

// The failurePolicy can decide only if the webhook neither allows nor denies.
func TestWebhookFailsWithItsProvider(t *testing.T) {
	review, _ := creationOf(t, volume("pv", "vol-1", nil))
	answer := webhooktest.Post(t, newWebhook(failing{}), review)
	installtest.Same(t, "the status", http.StatusInternalServerError, answer.Code)
	installtest.Contains(t, answer.Body.String(), `looking up volume \"vol-1\" of d: out of order`)
}

type failing struct{}

func (failing) Labels(context.Context, labelling.Volume) (map[string]string, bool, error) {
	return nil, false, errors.New("out of order")
}

func creationOf(t *testing.T, pv *corev1.PersistentVolume) (*admissionv1.AdmissionReview, []byte) {
	t.Helper()
	pv = pv.DeepCopy()
	pv.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
	object, err := json.Marshal(pv)
	installtest.Must(t, err)
	kind := metav1.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	resource := metav1.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "6406b67c-1b0c-401a-9078-d97155437e23", Operation: admissionv1.Create, Name: pv.Name,
			Kind: kind, RequestKind: &kind, Resource: resource, RequestResource: &resource,
			Object: runtime.RawExtension{Raw: object},
		},
	}, object
}

func patched(t *testing.T, object, patch []byte) *corev1.PersistentVolume {
	t.Helper()
	if patch != nil {
		operations, err := jsonpatch.DecodePatch(patch)
		installtest.Must(t, err)
		if object, err = operations.Apply(object); err != nil {
			t.Fatal(err)
		}
	}
	pv := &corev1.PersistentVolume{}
	installtest.Must(t, json.Unmarshal(object, pv))
	pv.TypeMeta = metav1.TypeMeta{}
	return pv
}
