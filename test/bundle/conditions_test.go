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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

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
	var many []admissionregistrationv1.MatchCondition
	for i := range 65 {
		many = append(many, admissionregistrationv1.MatchCondition{Name: fmt.Sprint("a", i), Expression: "true"})
	}
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
	if found := finds(b, "match-condition-invalid"); found != (err != nil) {
		t.Errorf("%v: found is %t, and the API server reports %v", conditions, found, err)
	}
}

func conditioned(t *testing.T, conditions ...admissionregistrationv1.MatchCondition) []string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"namespaces.projectpolicy.example.com": conditions})
	must(t, err)
	const neighbour = "    capabilities: Basic Install\n"
	return []string{neighbour, neighbour + "    olm-webhook-manager.io/match-conditions: '" + strings.ReplaceAll(string(text), "'", "''") + "'\n"}
}

func (e *env) registerConditioned(t *testing.T, b *bundle.Bundle) error {
	t.Helper()
	authored, err := csvspec.MatchConditions(b.CSV)
	must(t, err)
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
