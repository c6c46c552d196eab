package explain

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// kinds are what the cases of this file use: a kind with a status subresource, and one without.
const kinds = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: APIResourceList
groupVersion: v1
resources:
- {name: configmaps, kind: ConfigMap, namespaced: true}
- {name: pods, kind: Pod, namespaced: true}
- {name: pods/status, kind: Pod, namespaced: true}
---
apiVersion: v1
kind: APIResourceList
groupVersion: aggregated.example.com/v1
resources:
- {name: others, kind: Other, namespaced: true}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, kind: Gauge}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

const (
	fromCluster = "metadata: {name: one, namespace: shop, uid: u, generation: 7}, status: {phase: Running}"
	generates   = "metadata: {generateName: a-, namespace: shop}"
	widgetKind  = "apiVersion: example.com/v1, kind: Widget, "
	gaugeKind   = "apiVersion: example.com/v1, kind: Gauge, "
	podKind     = "apiVersion: v1, kind: Pod, "
	otherKind   = "apiVersion: aggregated.example.com/v1, kind: Other, "
)

func kindsWith(t *testing.T, texts ...string) Snapshot {
	t.Helper()
	var s Snapshot
	for _, text := range append([]string{kinds}, texts...) {
		for _, o := range installtest.OrPanic(Objects([]byte(text))) {
			installtest.Must(t, s.Add(o))
		}
	}
	return s
}

func conditional(kind, condition string) string {
	return hook(kind, "one", `rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*", "*/*"]}]`,
		fmt.Sprintf("matchConditions: [{name: c, expression: %q}]", condition))
}

func objectOf(text string) *unstructured.Unstructured {
	return &installtest.OrPanic(Objects([]byte("{" + text + "}")))[0]
}

func notKnown(fields string) string {
	return "Unknown the result depends on " + fields + ", which is not known"
}

// onlyStep is the verdict of the one webhook of a snapshot, with its reason.
func onlyStep(t *testing.T, s Snapshot, r Request) string {
	t.Helper()
	e, err := Explain(s, r)
	installtest.Must(t, err)
	return strings.TrimSpace(string(e.Steps[0].Verdict) + " " + e.Steps[0].Reason)
}

const (
	isFalse = `Skipped matchCondition "c" is false`
	fails   = "Refuses matchConditions fail: expression 'request.operation == 'DELETE' && request.name == 'a' || object.x' resulted in error: no such key: x; failurePolicy is Fail"
)

// The API server sets fields of a new object after mutating steps, and before validating ones.
func TestFieldsThatTheAPIServerSetsOnCreation(t *testing.T) {
	for name, test := range map[string]struct{ object, condition, mutating, validating string }{
		"uid exists":                                 {widgetKind + fromCluster, "has(object.metadata.uid)", isFalse, "Sees"},
		"uid has a value":                            {widgetKind + fromCluster, "object.metadata.?uid.orValue('') == 'u'", isFalse, notKnown("object.metadata.uid")},
		"uid of an aggregated API":                   {otherKind + fromCluster, "has(object.metadata.uid)", isFalse, "Sees"},
		"uid of a built-in kind":                     {podKind + fromCluster, "has(object.metadata.uid) && has(object.metadata.creationTimestamp)", isFalse, "Sees"},
		"uid, and a false condition":                 {widgetKind + fromCluster, "object.metadata.?uid.orValue('') == 'u' && object.metadata.name == 'two'", isFalse, isFalse},
		"generation":                                 {widgetKind + fromCluster, "object.metadata.generation == 1", isFalse, "Sees"},
		"generation of a built-in kind":              {podKind + fromCluster, "has(object.metadata.generation)", "Sees", notKnown("object.metadata.generation")},
		"a name":                                     {widgetKind + fromCluster, "object.metadata.name == 'one' && request.name == 'one'", "Sees", "Sees"},
		"a generated name exists":                    {widgetKind + generates, "has(object.metadata.name)", isFalse, "Sees"},
		"a generated name":                           {widgetKind + generates, "object.metadata.?name.orValue('').startsWith('a')", isFalse, notKnown("object.metadata.name")},
		"a generated name that may not matter":       {widgetKind + generates, "request.operation == 'CREATE' || object.metadata.name == 'a'", "Sees", "Sees"},
		"a generated name of the request":            {widgetKind + generates, "has(request.name) && request.name.startsWith('a')", isFalse, notKnown("request.name")},
		"a name of the request that does not matter": {widgetKind + generates, "request.operation == 'CREATE' || request.name == 'a'", "Sees", "Sees"},
		"an error, and a generated name":             {widgetKind + generates, "request.operation == 'DELETE' && request.name == 'a' || object.x", fails, fails},
		"the authorizer and a generated name":        {widgetKind + generates, "has(object.metadata.uid) && authorizer.requestResource.check('get').allowed()", isFalse, notKnown("request.name")},
		"status is removed":                          {widgetKind + fromCluster, "has(object.status)", "Sees", isFalse},
		"status without a subresource":               {gaugeKind + fromCluster, "object.status.phase == 'Running'", "Sees", "Sees"},
		"status of a built-in kind":                  {podKind + fromCluster, "object.status.phase == 'Running'", "Sees", notKnown("object.status")},
		"a built-in kind has a status":               {podKind + fromCluster, "has(object.status)", "Sees", "Sees"},
		"a part of it":                               {podKind + fromCluster, "has(object.status.phase)", "Sees", notKnown("object.status")},
		"status of an aggregated API":                {otherKind + fromCluster, "has(object.status)", "Sees", notKnown("object.status")},
		"a kind without a status":                    {"apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}", "!has(object.status)", "Sees", "Sees"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, want := range map[string]string{MutatingWebhook: test.mutating, ValidatingWebhook: test.validating} {
				s := kindsWith(t, conditional(kind, test.condition))
				installtest.Same(t, kind, want, onlyStep(t, s, creation(t, s, objectOf(test.object))))
			}
		})
	}
}

// An update keeps what the stored object has, after mutating steps.
func TestFieldsThatTheAPIServerKeepsOnUpdate(t *testing.T) {
	const (
		sent   = "metadata: {name: one, namespace: shop}, spec: {a: 1}, status: {phase: Sent}"
		stored = "metadata: {name: one, namespace: shop, uid: u, creationTimestamp: '2026-01-01T00:00:00Z', labels: {a: b}}, spec: {a: 0}, status: {phase: Stored}"
	)
	for name, test := range map[string]struct{ kind, subresource, condition, mutating, validating string }{
		"uid":                        {widgetKind, "", "object.metadata.?uid.orValue('') == 'u'", isFalse, "Sees"},
		"creationTimestamp":          {podKind, "", "has(object.metadata.creationTimestamp)", isFalse, "Sees"},
		"status is kept":             {widgetKind, "", "object.status.phase == 'Stored'", isFalse, "Sees"},
		"status is sent":             {gaugeKind, "", "object.status.phase == 'Stored'", isFalse, isFalse},
		"status of a built-in kind":  {podKind, "", "object.status.phase == 'Stored'", isFalse, notKnown("object.status")},
		"spec is kept":               {widgetKind, "status", "object.spec.a == 0 && object.status.phase == 'Sent' && 'a' in object.metadata.labels", isFalse, "Sees"},
		"spec of an aggregated kind": {otherKind, "status", "object.spec.a == 0", isFalse, notKnown("object.spec")},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, want := range map[string]string{MutatingWebhook: test.mutating, ValidatingWebhook: test.validating} {
				s := kindsWith(t, conditional(kind, test.condition))
				r := creation(t, s, objectOf(test.kind+sent))
				r.Operation, r.Old, r.Resource.Subresource = admissionregistrationv1.Update, objectOf(test.kind+stored), test.subresource
				installtest.Same(t, kind, want, onlyStep(t, s, r))
			}
		})
	}
}

// A policy reads fields also by its variables. Reviews are not stored, and have no uid.
func TestOpenFieldsOfPoliciesAndReviews(t *testing.T) {
	policy := strings.NewReplacer("ACTION", "Deny", "NAME", "limit", "params.data.mode", "object.metadata.name", "[example.com]", "['*']").Replace(policies)
	s := kindsWith(t, policy)
	e, err := Explain(s, creation(t, s, objectOf(widgetKind+generates)))
	installtest.Must(t, err)
	installtest.Same(t, "a variable", "limits shop/limit "+notKnown("object.metadata.name"), inWords(e.Steps[0]))
	review := objectOf("apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: r}")
	installtest.Same(t, "a review", isFalse, onlyStep(t, kindsWith(t, conditional(ValidatingWebhook, "has(object.metadata.uid)")), Request{
		Operation: admissionregistrationv1.Create, Object: review,
		Resource: Resource{GroupVersionResource: review.GroupVersionKind().GroupVersion().WithResource("tokenreviews"), Kind: review.GroupVersionKind()},
	}))
}
