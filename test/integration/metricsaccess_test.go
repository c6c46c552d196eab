package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/httpserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Who may scrape the manager is what the API server reports of the caller, with no more permissions
// than manifests/ grant to the manager and to scrapers.
func TestMetricsAccess(t *testing.T) {
	e := newParallelEnv(t)
	grant(e)
	manager, _ := typedClients(t, asAccount())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") })
	server, err := httpserver.Start("127.0.0.1:0", httpserver.Authorized(manager, handler, logger()), nil, logger())
	e.must(err)
	t.Cleanup(server.Close)

	stranger, scraper := tokenOf(e, "stranger"), tokenOf(e, "scraper")
	letScrape(e, "scraper")
	answer := func(path, authorization string) int {
		request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "http://"+server.Address()+path, nil)
		e.must(err)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(request)
		e.must(err)
		defer response.Body.Close()
		body := installtest.OrPanic(io.ReadAll(response.Body))
		if (response.StatusCode == http.StatusOK) != (string(body) == "metrics") {
			t.Errorf("%d with the body %q", response.StatusCode, body)
		}
		return response.StatusCode
	}
	becomes(e, "the scraper is answered", func() int { return answer("/metrics", "Bearer "+scraper) }, http.StatusOK)
	for name, test := range map[string]struct {
		path, authorization string
		want                int
	}{
		"no credentials":                {"/metrics", "", http.StatusUnauthorized},
		"another scheme":                {"/metrics", "Basic " + scraper, http.StatusUnauthorized},
		"a forged token":                {"/metrics", "Bearer " + scraper + "x", http.StatusUnauthorized},
		"a user without permission":     {"/metrics", "Bearer " + stranger, http.StatusForbidden},
		"a scraper at another path":     {"/debug", "Bearer " + scraper, http.StatusForbidden},
		"a scraper":                     {"/metrics", "Bearer " + scraper, http.StatusOK},
		"a scraper, scheme in capitals": {"/metrics", "BEARER " + scraper, http.StatusOK},
	} {
		same(t, name+": the status code", answer(test.path, test.authorization), test.want)
	}
}

// Unknown callers cannot make the manager flood the API server. An allowed scraper is answered meanwhile.
func TestMetricsAccessIsLimited(t *testing.T) {
	e := newParallelEnv(t)
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server, err := httpserver.Start("127.0.0.1:0", httpserver.Authorized(e.kube, handler, logger()), nil, logger())
	e.must(err)
	t.Cleanup(server.Close)
	scraper := tokenOf(e, "scraper")
	letScrape(e, "scraper")
	answer := func(token string) int {
		request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "http://"+server.Address()+"/metrics", nil)
		e.must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		e.must(err)
		response.Body.Close()
		return response.StatusCode
	}
	becomes(e, "the scraper is answered", func() int { return answer(scraper) }, http.StatusOK)
	codes := map[int]int{}
	for i := range 200 {
		codes[answer(fmt.Sprint("forged-", i))]++
		if code := answer(scraper); code != http.StatusOK {
			t.Fatalf("after %d forged tokens the scraper is answered with %d", i, code)
		}
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK] > 0 || codes[http.StatusUnauthorized]+codes[http.StatusTooManyRequests] != 200 {
		t.Errorf("200 forged tokens are answered with %v", codes)
	}
}

func tokenOf(e *env, account string) string {
	e.Helper()
	accounts := e.kube.CoreV1().ServiceAccounts(e.namespace)
	kube.Create(e, accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	request, err := accounts.CreateToken(e.ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.must(err)
	return request.Status.Token
}

func letScrape(e *env, account string) {
	e.Helper()
	role := &rbacv1.ClusterRole{}
	read(e, "metricsreader.yaml", role)
	if _, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		e.must(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account}},
	}
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), binding)
}

var apiServerMetric = regexp.MustCompile(`\bapiserver_[a-z_]+`)

// Every metric of API servers that an alert or a panel asks for is one that this API server
// exposes, after calls of webhooks that do not answer.
func TestAPIServerMetricsOfTheRules(t *testing.T) {
	e := newParallelEnv(t)
	callsWebhooksInVain(e)
	convertsInVain(e)
	exposed, err := e.kube.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(e.ctx)
	e.must(err)
	asked := map[string]bool{}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		content := installtest.OrPanic(os.ReadFile("../../manifests/monitoring/" + file))
		for _, name := range apiServerMetric.FindAllString(string(content), -1) {
			if asked[name] = true; !bytes.Contains(exposed, []byte("\n"+name+"{")) {
				t.Errorf("%s asks for %s, which the API server does not expose", file, name)
			}
		}
	}
	if len(asked) < 5 {
		t.Errorf("the rules and the dashboard ask for %v alone", asked)
	}
	const refused = `\napiserver_admission_webhook_rejection_count\{error_type="calling_webhook_error",name="fail\.example\.com",operation="CREATE",rejection_code="[0-9]+",type="validating"\} [1-9]`
	if !regexp.MustCompile(refused).Match(exposed) {
		t.Error("the labels of apiserver_admission_webhook_rejection_count are not those of the rules")
	}
}

// nowhere is a URL at which no server listens.
const nowhere = "https://127.0.0.1:1/"

func callsWebhooksInVain(e *env) {
	e.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	for name, policy := range map[string]admissionregistrationv1.FailurePolicyType{"fail.example.com": admissionregistrationv1.Fail, "ignore.example.com": admissionregistrationv1.Ignore} {
		configuration.Webhooks = append(configuration.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: name, FailurePolicy: &policy, AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new(nowhere)},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"test": name}},
			Rules:             []admissionregistrationv1.RuleWithOperations{rule([]string{""}, "configmaps")},
		})
	}
	configurations := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kube.Create(e, configurations, configuration)
	create := func(name string) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "object-", Labels: map[string]string{"test": name}}}
		_, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(e.ctx, object, metav1.CreateOptions{})
		return err
	}
	e.eventually("a call of the webhook fails", func() (bool, any) { return create("fail.example.com") != nil, nil })
	e.must(create("ignore.example.com"))
	e.must(configurations.Delete(e.ctx, configuration.Name, metav1.DeleteOptions{}))
}

func convertsInVain(e *env) {
	e.Helper()
	client := installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + e.namespace + ".example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: e.namespace + ".example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: anything}, {Name: "v2", Served: true, Schema: anything}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: new(nowhere)}, ConversionReviewVersions: []string{"v1"},
			}},
		},
	}
	kube.Create(e, client.ApiextensionsV1().CustomResourceDefinitions(), crd)
	things := func(version string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: "things"}
	}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.Spec.Group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "thing"},
	}}
	e.eventually("an object of it is stored", func() (bool, any) {
		_, err := e.any.Resource(things("v1")).Namespace(e.namespace).Create(e.ctx, thing, metav1.CreateOptions{})
		return err == nil, err
	})
	if _, err := e.any.Resource(things("v2")).Namespace(e.namespace).Get(e.ctx, "thing", metav1.GetOptions{}); err == nil {
		e.Error("an object is converted by a webhook that does not answer")
	}
	e.must(client.ApiextensionsV1().CustomResourceDefinitions().Delete(e.ctx, crd.Name, metav1.DeleteOptions{}))
}
