package explain

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// base is a cluster with two versions of a custom resource, and the discovery of the core group.
const base = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: gold}}
---
apiVersion: v1
kind: APIResourceList
groupVersion: v1
resources:
- {name: configmaps, kind: ConfigMap, namespaced: true}
- {name: namespaces, kind: Namespace}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  conversion: {strategy: CONVERSION}
  versions:
  - {name: v1alpha1, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, default: {}, properties: {size: {type: integer, default: 3}}}}}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// hooks has a configuration with one webhook, whose fields a test replaces.
const hooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: %s}
webhooks:
- name: %s.example.com
  rules: [{operations: [CREATE], apiGroups: ["example.com", ""], apiVersions: [v1], resources: [widgets, configmaps]}]
  matchPolicy: Equivalent
  failurePolicy: Fail
  timeoutSeconds: 5
  namespaceSelector: {}
  objectSelector: {}
`

const policies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  variables: [{name: mode, expression: params.data.mode}]
  matchConditions: [{name: mode, expression: variables.mode == 'on'}]
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules: [{operations: ["*"], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limits}
spec: {policyName: limits, validationActions: [ACTION], paramRef: {name: NAME, parameterNotFoundAction: Deny}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limit, namespace: shop}
data: {mode: "on"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: empty, namespace: shop}
`

func hook(kind, name string, changes ...string) string {
	text := fmt.Sprintf(hooks, kind, name, name)
	for _, change := range changes {
		field, _, _ := strings.Cut(change, ":")
		kept := lists.Filter(strings.Split(text, "\n"), func(line string) bool { return !strings.HasPrefix(line, "  "+field+":") })
		text = strings.TrimRight(strings.Join(kept, "\n"), "\n") + "\n  " + change + "\n"
	}
	return text
}

func snapshot(t *testing.T, conversion string, texts ...string) Snapshot {
	t.Helper()
	var s Snapshot
	for _, text := range append([]string{strings.ReplaceAll(base, "CONVERSION", conversion)}, texts...) {
		for _, o := range installtest.OrPanic(Objects([]byte(text))) {
			installtest.Must(t, s.Add(o))
		}
	}
	return s
}

func widget(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Widget", "metadata": map[string]any{"name": "one", "namespace": "shop"},
	}}
}

func creation(t *testing.T, s Snapshot, object *unstructured.Unstructured) Request {
	t.Helper()
	resource, known := s.Find(object.GroupVersionKind())
	if !known {
		t.Fatalf("%s is not known", object.GroupVersionKind())
	}
	return Request{Operation: admissionregistrationv1.Create, Object: object, Resource: resource, User: Impersonated("alice", []string{"developers"})}
}

func TestSteps(t *testing.T) {
	mutating := func(changes ...string) []string { return []string{hook(MutatingWebhook, "one", changes...)} }
	policy := func(action, name string) []string {
		return []string{strings.NewReplacer("ACTION", action, "NAME", name).Replace(policies)}
	}
	for name, test := range map[string]struct {
		objects    []string
		conversion string
		want       []string
	}{
		"no webhook": {},
		"configurations are sorted": {objects: []string{hook(ValidatingWebhook, "b"), hook(MutatingWebhook, "z"), hook(ValidatingWebhook, "a"), hook(MutatingWebhook, "c")},
			want: []string{"c.example.com Sees 0", "z.example.com Sees 1", "a.example.com Sees 0", "b.example.com Sees 1"}},
		"matchPolicy Exact":          {objects: mutating("matchPolicy: Exact"), want: []string{"one.example.com Skipped no rule matches CREATE of widgets in example.com/v1alpha1; matchPolicy Exact leaves out example.com/v1"}},
		"another namespace":          {objects: mutating("namespaceSelector: {matchLabels: {tier: silver}}"), want: []string{"one.example.com Skipped namespaceSelector does not select the Namespace shop"}},
		"another object":             {objects: mutating("objectSelector: {matchLabels: {a: b}}"), want: []string{"one.example.com Skipped objectSelector does not select the labels of the object"}},
		"a true condition":           {objects: mutating(`matchConditions: [{name: size, expression: object.spec.size == 3 && object.apiVersion == 'example.com/v1'}]`), want: []string{"one.example.com Sees 0"}},
		"a false condition":          {objects: mutating(`matchConditions: [{name: bob, expression: request.userInfo.username == 'bob'}]`), want: []string{`one.example.com Skipped matchCondition "bob" is false`}},
		"a condition that fails":     {objects: append(mutating(`matchConditions: [{name: x, expression: object.spec.x == 1}]`), hook(ValidatingWebhook, "a")), want: []string{"one.example.com Refuses matchConditions fail: expression 'object.spec.x == 1' resulted in error: no such key: x; failurePolicy is Fail", "a.example.com NotReached an earlier step refuses the request"}},
		"and is ignored":             {objects: mutating(`matchConditions: [{name: x, expression: object.spec.x == 1}]`, "failurePolicy: Ignore"), want: []string{"one.example.com Skipped matchConditions fail: expression 'object.spec.x == 1' resulted in error: no such key: x; failurePolicy is Ignore"}},
		"the authorizer":             {objects: mutating(`matchConditions: [{name: may, expression: "authorizer.group('').resource('pods').namespace('shop').check('get').allowed()"}]`), want: []string{"one.example.com Unknown the result depends on the answer of the authorizer: may alice get pods in shop?"}},
		"a conversion webhook":       {conversion: "Webhook", objects: mutating(`matchConditions: [{name: size, expression: object.spec.size == 3}]`), want: []string{"one.example.com Unknown matchConditions were not evaluated: the object would have to be converted from example.com/v1alpha1 to example.com/v1"}},
		"a policy":                   {objects: policy("Deny", "limit"), want: []string{"limits shop/limit Sees"}},
		"a policy without binding":   {objects: []string{strings.Split(policies, "---")[0]}, want: []string{"limits  Skipped it has no binding"}},
		"a parameter that is absent": {objects: policy("Deny", "absent"), want: []string{"limits  Refuses no parameter is found, and parameterNotFoundAction is Deny; failurePolicy is Fail"}},
		"validationActions":          {objects: policy("Warn", "empty"), want: []string{"limits shop/empty Skipped matchConditions fail: expression 'variables.mode == 'on'' resulted in error: composited variable \"mode\" fails to evaluate: no such key: data; validationActions lack Deny"}},
	} {
		t.Run(name, func(t *testing.T) {
			conversion := "None"
			if test.conversion != "" {
				conversion = test.conversion
			}
			s := snapshot(t, conversion, test.objects...)
			e, err := Explain(s, creation(t, s, widget("v1alpha1")))
			installtest.Must(t, err)
			installtest.Same(t, "steps", test.want, lists.Map(e.Steps, inWords))
		})
	}
}

func inWords(s Step) string {
	who := s.Name
	if who == "" {
		who = s.Object + " " + s.Param
	}
	text := who + " " + string(s.Verdict)
	if s.Index != nil {
		text += fmt.Sprint(" ", *s.Index)
	}
	return strings.TrimSpace(text + " " + s.Reason)
}

// No webhook sees its own registration, and the answer of the authorizer decides.
func TestExemptObjectsAndAnswers(t *testing.T) {
	s := snapshot(t, "None", hook(MutatingWebhook, "one", `matchConditions: [{name: may, expression: "authorizer.group('').resource('pods').namespace('shop').check('get').allowed()"}]`))
	r := creation(t, s, widget("v1"))
	e, err := Explain(s, r)
	installtest.Must(t, err)
	for allowed, want := range map[bool]Verdict{true: Sees, false: Skipped} {
		s.Access = map[Access]bool{e.Questions[0]: allowed}
		answered, err := Explain(s, r)
		installtest.Must(t, err)
		installtest.Same(t, "verdict", want, answered.Steps[0].Verdict)
	}
	configuration := &installtest.OrPanic(Objects([]byte(hook(MutatingWebhook, "two"))))[0]
	e, err = Explain(s, Request{Operation: admissionregistrationv1.Create, Object: configuration, Resource: Guess(configuration)})
	installtest.Must(t, err)
	installtest.Same(t, "reason", "API servers call no webhooks for webhook configurations, policies and their bindings", e.Steps[0].Reason)
}

// Webhooks see reviews of older API servers only.
func TestReviews(t *testing.T) {
	rules := `rules: [{operations: [CREATE], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]`
	review := installtest.OrPanic(Objects([]byte(`{apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: r}}`)))[0]
	for exempt, want := range map[bool]Verdict{false: Sees, true: Skipped} {
		s := snapshot(t, "None", hook(ValidatingWebhook, "all", rules))
		s.ReviewsAreExempt = exempt
		e, err := Explain(s, Request{Operation: admissionregistrationv1.Create, Object: &review, Resource: Resource{
			GroupVersionResource: review.GroupVersionKind().GroupVersion().WithResource("tokenreviews"), Kind: review.GroupVersionKind(),
		}})
		installtest.Must(t, err)
		installtest.Same(t, fmt.Sprintf("verdict, exempt %t", exempt), want, e.Steps[0].Verdict)
	}
}

func TestRequestsThatCannotBeExplained(t *testing.T) {
	s := snapshot(t, "None")
	elsewhere := widget("v1")
	elsewhere.SetNamespace("elsewhere")
	update, connect := creation(t, s, widget("v1")), creation(t, s, widget("v1"))
	update.Operation, connect.Operation = admissionregistrationv1.Update, admissionregistrationv1.Connect
	for want, r := range map[string]Request{
		`the Namespace "elsewhere" does not exist: the API server refuses the request before it calls webhooks`: creation(t, s, elsewhere),
		"operation UPDATE needs the object and the stored object":                                               update,
		`operation "CONNECT": use CREATE, UPDATE or DELETE`:                                                     connect,
	} {
		_, err := Explain(s, r)
		installtest.Error(t, want, err)
	}
}

func TestImpersonated(t *testing.T) {
	for name, test := range map[string]struct{ groups, want []string }{
		"alice":                            {[]string{"developers"}, []string{"developers", "system:authenticated"}},
		"system:anonymous":                 {nil, []string{"system:unauthenticated"}},
		"system:serviceaccount:shop:agent": {nil, []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}},
	} {
		installtest.Same(t, name, test.want, Impersonated(name, test.groups).Groups)
	}
}
