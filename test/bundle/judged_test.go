package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestScopesAreThoseOfTheAPIServer(t *testing.T) {
	e := newEnv(t)
	_, lists, err := e.kube.Discovery().ServerGroupsAndResources()
	must(t, err)
	c := newInstaller(t)
	kinds, namespaced := []schema.GroupKind{}, map[schema.GroupKind]bool{}
	for _, list := range lists {
		version := installtest.OrPanic(schema.ParseGroupVersion(list.GroupVersion))
		for _, r := range list.APIResources {
			kind := schema.GroupKind{Group: version.Group, Kind: r.Kind}
			if strings.Contains(r.Name, "/") || strings.HasSuffix(kind.Group, ".example.com") {
				continue // a subresource, of another kind; or a definition of another test
			}
			if known := groupkind.ClusterScoped(kind); known == r.Namespaced {
				t.Errorf("%s: known as cluster-scoped: %t; the API server reports namespaced: %t", kind, known, r.Namespaced)
			}
			kinds, namespaced[kind] = append(kinds, kind), r.Namespaced
		}
	}
	answered := installtest.OrPanic(c.Scopes(t.Context(), append(kinds, schema.GroupKind{Group: "absent.example.com", Kind: "Thing"})))
	for kind, want := range namespaced {
		if got, there := answered[kind]; !there || got != want {
			t.Errorf("%s: got %t, %t, want %t", kind, got, there, want)
		}
	}
	installtest.Same(t, "the number of answers: a kind that no API server knows has none", len(namespaced), len(answered))
}

func TestRulesAreJudgedAsTheAPIServerDoes(t *testing.T) {
	e := newEnv(t)
	fields := map[string]string{"apiGroups": `[""]`, "apiVersions": "[v1]", "resources": "[namespaces]", "operations": "[CREATE, UPDATE]"}
	for field, lists := range map[string][]string{
		"apiGroups":   {"[]", `[""]`, "[apps, batch]", `["*"]`, `["*", apps]`, `["*", ""]`},
		"apiVersions": {"[]", "[v1, v2]", `["*"]`, `["*", v1]`, `[""]`},
		"operations":  {"[]", "[CREATE, CONNECT]", `["*"]`, `["*", CREATE]`, "[PATCH]", "[create]", `[""]`},
		"resources": {
			"[]", `[""]`, "[pods]", "[pods, pods/status]", "[pods, pods]", `["*"]`, `["*/*"]`, `["*", "*/*"]`, `["*/*", pods]`, `["*/*", "*/*"]`, `["*", pods]`, `[pods, "*"]`, `["*", pods, "*"]`, `["*", pods/status]`,
			`["*", pods, pods/status]`, "[pods/*]", "[pods, pods/*]", "[pods/*, pods/status]", "[pods/status, pods/*]", `["*/status", pods/status]`, `[pods/status, "*/status"]`, `["*/status", pods/log]`, "[pods/*, pods/*]",
		},
	} {
		for _, list := range lists {
			b := edited(t, proof{example: admission, edits: []string{field + ": " + fields[field], field + ": " + list}})
			err := e.register(t, first(b), "judged", nil, true)
			if err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("%s: %s: %v", field, list, err)
			}
			installtest.Same(t, fmt.Sprintf("%s: %s: it is found", field, list), err != nil, finds(b, "rule-incomplete"))
		}
	}
}

func TestPodsAreJudgedAsTheAPIServerDoes(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, testNamespace)
	const (
		own   = "/tmp/k8s-webhook-server/serving-certs"
		other = "{name: other, image: example.com/other}"
	)
	for name, c := range map[string]struct {
		volumes, mounts, initContainers string
		refused                         bool
	}{
		"nothing":                                 {"", "", "", false},
		"a volume that is mounted twice":          {"{name: a, emptyDir: {}}", "{name: a, mountPath: /a}, {name: a, mountPath: /b}", "", false},
		"two volumes of one name":                 {"{name: a, emptyDir: {}}, {name: a, emptyDir: {}}", "", "", true},
		"a volume that there is not":              {"{name: a, emptyDir: {}}", "{name: b, mountPath: /b}", "", true},
		"two volumes in one place":                {"{name: a, emptyDir: {}}, {name: b, emptyDir: {}}", "{name: a, mountPath: /a}, {name: b, mountPath: /a}", "", true},
		"two places that are one to a kernel":     {"{name: a, emptyDir: {}}", "{name: a, mountPath: /a}, {name: a, mountPath: /a/}", "", false},
		"another init container":                  {"", "", other, false},
		"two init containers of one name":         {"", "", other + ", " + other, true},
		"an init container named as another":      {"", "", "{name: webhook, image: example.com/other}", true},
		"a volume that an init container lacks":   {"", "", "{name: other, image: example.com/other, volumeMounts: [{name: a, mountPath: /a}]}", true},
		"the certificate of another tool, twice":  {"{name: a, secret: {secretName: a}}, {name: a, secret: {secretName: a}}", "{name: a, mountPath: " + own + "}", "", false},
		"a certificate that no client brings":     {"", "{name: cert, mountPath: " + own + "}", "", false},
		"the manager's own volume":                {"", "{name: webhook-cert, mountPath: /cert}", "", false},
		"the manager's own volume, brought":       {"{name: webhook-cert, secret: {secretName: a}}", "{name: webhook-cert, mountPath: /cert}", "", false},
		"the manager's own volume, brought twice": {"{name: webhook-cert, secret: {secretName: a}}, {name: webhook-cert, secret: {secretName: a}}", "", "", true},
		"the manager's place, twice":              {"{name: a, emptyDir: {}}, {name: b, emptyDir: {}}", "{name: a, mountPath: " + own + "}, {name: b, mountPath: " + own + "}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := edited(t, proof{example: admission, edits: []string{
				"              containers:\n", "              volumes: [" + c.volumes + "]\n              initContainers: [" + c.initContainers + "]\n              containers:\n",
				"                imagePullPolicy: IfNotPresent\n", "                volumeMounts: [" + c.mounts + "]\n",
			}})
			err := e.createDeployment(t, b)
			installtest.Same(t, "the API server refuses it", c.refused, err != nil)
			if err != nil {
				mustRefuse(t, err)
			}
			installtest.Same(t, "found", err != nil, finds(b, "pod-invalid"))
		})
	}
}

func TestConditionsAreJudgedAsTheAPIServerDoes(t *testing.T) {
	e := newEnv(t)
	for _, expression := range []string{
		// It takes these.
		"true", " true ", "object.metadata.name != 'a'", "!has(object.spec) || object.spec.size > 3", "request.userInfo.username == 'a'", "namespaceObject.metadata.name != 'a'",
		"authorizer.group('').resource('pods').check('get').allowed()", "authorizer.requestResource.check('list').allowed()", "object.metadata.labels.all(k, k.startsWith('a'))",
		"quantity('1').isLessThan(quantity('2'))", "ip('::1').family() == 6", "oldObject == null || object.?metadata.name.orValue('') == 'a'",
		// And none of these.
		" ", "'a'", "size(request.name)", "dyn(true)", "object.", "nobody", "a + b", "params.a", "variables.a", "request.nothing == ''", "request.uid == ''", "request.name.nothing()", "true false",
	} {
		e.judgedAlike(t, admissionregistrationv1.MatchCondition{Name: "a", Expression: expression})
	}
	for _, name := range []string{"a", "A_b.c", "example.com/a", "a b", "-a", "a/b/c", "Example.com/a", strings.Repeat("a", 64)} {
		e.judgedAlike(t, admissionregistrationv1.MatchCondition{Name: name, Expression: "true"})
	}
	many := installtest.Times(65, func(i int) admissionregistrationv1.MatchCondition {
		return admissionregistrationv1.MatchCondition{Name: fmt.Sprint("a", i), Expression: "true"}
	})
	e.judgedAlike(t, many...)
	e.judgedAlike(t, many[:64]...)
}

func (e *env) judgedAlike(t *testing.T, conditions ...admissionregistrationv1.MatchCondition) {
	t.Helper()
	b := edited(t, proof{example: admission, edits: conditioned(t, conditions...)})
	err := e.registerConditioned(t, b)
	if err != nil && !apierrors.IsInvalid(err) {
		t.Errorf("%v: %v", conditions, err)
	}
	installtest.Same(t, fmt.Sprintf("%v: it is found", conditions), err != nil, finds(b, "match-condition-invalid"))
}

func conditioned(t *testing.T, conditions ...admissionregistrationv1.MatchCondition) []string {
	t.Helper()
	text := installtest.OrPanic(json.Marshal(map[string]any{"namespaces.projectpolicy.example.com": conditions}))
	const neighbour = "    capabilities: Basic Install\n"
	return []string{neighbour, neighbour + "    olm-webhook-manager.io/match-conditions: '" + strings.ReplaceAll(string(text), "'", "''") + "'\n"}
}

func (e *env) registerConditioned(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	authored := installtest.OrPanic(csvspec.MatchConditions(b.CSV))
	d := first(b)
	webhook := d.GetValidatingWebhook(testNamespace, nil, nil)
	webhook.MatchConditions = slices.Clone(authored[webhook.Name])
	return e.create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "conditioned"},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{webhook},
	}, true)
}

func conditionRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.registerConditioned(t, b))
}
