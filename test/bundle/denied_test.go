package bundle

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A webhook denies each update of a definition as a conflict. Commands that change definitions end with its message.
func TestConflictThatAdmissionMakes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	crd := e.defineVersions(t, "frozens", map[string]string{"v1": schemas["anything"], "v2": schemas["anything"]})
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": crd.Spec.Group + "/v1", "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": "a"}}}
	must(t, e.create(t.Context(), object, false))
	e.denyUpdates(t, crd.Name)

	output, err := webhooks(t, "storage", "migrate", crd.Name, "--to=v2", "--api-servers="+serverAddress(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "is refused by admission") || !strings.Contains(string(output), "definitions are frozen") {
		t.Errorf("storage migrate: %v\n%s", err, output)
	}

	c := newInstaller(t)
	next := crd.DeepCopy()
	next.Spec.Versions = append(next.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v3", Served: true, Schema: schemaOf(t, schemas["anything"])})
	b := bundleWith(t, next)
	plan, err := c.Plan(t.Context(), shown(installer.Installation{Bundle: b, Manifests: manifestsOf(t, next)}))
	says(t, errors.Join(err, plan.Err()), "definitions are frozen")
}

func (e *env) denyUpdates(t *testing.T, definition string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{
			Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "definitions are frozen",
		}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	configurations := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kube.CreateTemporary(t, configurations, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: definition},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "freeze.bundle.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: new(server.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "name", Expression: "object.metadata.name == '" + definition + "'"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{apiextensionsv1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"customresourcedefinitions"}},
			}},
		}},
	})
	client := e.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	e.eventually(t, "updates of the definition are denied", func() bool {
		live, err := client.Get(t.Context(), definition, metav1.GetOptions{})
		if err != nil {
			return false
		}
		_, err = client.Update(t.Context(), live, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
}
