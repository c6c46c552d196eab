package integration

import (
	"net/http"
	"path"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The command writes nothing after a call of a webhook has failed.
func TestTakeoverCommandStopsAtAFailedCall(t *testing.T) {
	e := newTakeoverEnv(t)
	e.failingWebhook("failing.example.com")
	call := func() error {
		_, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "called", Labels: map[string]string{"fails": "true"}}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	e.eventually("a call fails", func() (bool, any) { err := call(); return err != nil, err })
	p := proxy(e.env, func(_ int, r *http.Request) kube.Verdict {
		if strings.HasSuffix(r.URL.Path, olmOperator+"/scale") {
			installtest.Error(t, "failing.example.com", call())
		}
		return kube.Pass
	})
	out, err := e.run(p, runCommand...)
	installtest.Error(t, "1 calls of webhook failing.example.com failed", err)
	if all := changes(p); len(all) == 0 || !strings.HasSuffix(all[len(all)-1], olmOperator+"/scale") {
		t.Fatalf("the writes are %q, the last one must scale %s. The command printed:\n%s", all, olmOperator, out)
	}
	same(t, "replicas of the manager", e.replicas(managerName), 0)
}

// The command decides by what it reads after a measurement, which may take long. Here olm-operator is started while the
// metrics are read: the manager does not start next to it.
func TestTakeoverCommandDecidesAfterTheMeasurement(t *testing.T) {
	e := newTakeoverEnv(t)
	config := cluster.Config()
	started := 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/metrics") && started == 0 && e.replicas(olmOperator) == 0 {
				started++
				kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), olmOperator, types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
			}
			return next.RoundTrip(r)
		})
	})
	p := installtest.OrPanic(kube.NewProxy(config, nil))
	e.Cleanup(p.Close)
	out, err := e.run(p, runCommand...)
	if err != nil {
		t.Errorf("run does not stop olm-operator again: %v\n%s", err, out)
	}
	same(t, "measurements in which olm-operator was started", started, 1)
	scaled := lists.FilterMap(changes(p), func(w string) (string, bool) { return path.Base(path.Dir(w)), strings.HasSuffix(w, "/scale") })
	same(t, "Deployments that run scales", scaled, []string{olmOperator, olmOperator, managerName})
}

// failingWebhook registers a webhook for labelled ConfigMaps of the namespace. No server answers its calls.
func (e *takeoverEnv) failingWebhook(name string) {
	e.Helper()
	kube.CreateTemporary(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"fails": "true"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
}

// An edit of a Service or a Role blocks run. Accepted, the plan has it, and run reverts it.
func TestTakeoverOfEditedObjects(t *testing.T) {
	e := newTakeoverEnv(t)
	services, roles := e.kube.CoreV1().Services(e.namespace), e.kube.RbacV1().Roles(e.namespace)
	service := func() []corev1.ServicePort { return kube.Get(e, services, "server-service").Spec.Ports }
	verbs := func() []string { return kube.Get(e, roles, "server-service-cert").Rules[0].Verbs }
	ports, may := service(), verbs()
	_, err := services.Patch(e.ctx, "server-service", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/ports/0/targetPort","value":9999}]`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	e.must(err)
	_, err = roles.Patch(e.ctx, "server-service-cert", types.JSONPatchType, []byte(`[{"op":"add","path":"/rules/0/verbs/-","value":"list"}]`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	e.must(err)
	p := proxy(e.env, nil)
	out, err := e.run(p, runCommand...)
	installtest.Error(t, "the takeover is blocked", err)
	for _, object := range []takeover.Object{{Kind: "Service", Namespace: e.namespace, Name: "server-service"}, {Kind: "Role", Namespace: e.namespace, Name: "server-service-cert"}} {
		installtest.Contains(t, out, "HandEdited: "+object.String()+" differs from what olm-operator wrote in ")
	}
	none(t, "writes", changes(p))
	out, err = e.run(proxy(e.env, nil), "plan", "--accept-edits")
	e.must(err)
	installtest.Contains(t, out, "DuringRun: Service "+e.namespace+"/server-service: the manager writes again spec.ports")
	installtest.Contains(t, out, "DuringRun: Role "+e.namespace+"/server-service-cert: the manager writes again rules")
	e.completes("run", "--accept-edits")
	e.is(takeover.Adopted)
	e.running.rests()
	same(t, "ports", service(), ports)
	same(t, "verbs", verbs(), may)
}
