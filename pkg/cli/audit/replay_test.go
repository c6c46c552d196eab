package audit

import (
	"errors"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func mutating(w *Webhook) { w.Type = operatorsv1alpha1.MutatingAdmissionWebhook }

func TestAttempts(t *testing.T) {
	change := func(operation admissionregistrationv1.OperationType, subresource string) Change {
		return Change{Operation: operation, Subresource: subresource}
	}
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	someEffects := admissionregistrationv1.SideEffectClassSome
	for name, test := range map[string]struct {
		webhook Webhook
		changes []Change
		want    []Attempt
		none    string
	}{
		"an update":                           {webhook(), []Change{change(update, ""), change(update, "")}, []Attempt{{update, "", false}}, ""},
		"a subresource":                       {webhook(), []Change{change(update, "scale")}, []Attempt{{update, "scale", false}}, ""},
		"a creation":                          {webhook(), []Change{change(create, "")}, []Attempt{{create, "", false}}, ""},
		"a mutated creation":                  {webhook(mutating), []Change{change(create, ""), change(update, "")}, []Attempt{{update, "", false}}, ""},
		"a mutated creation, without updates": {webhook(mutating, func(w *Webhook) { w.Declared.Rules = rule("", "v1", "configmaps", create) }), []Change{change(create, "")}, []Attempt{{create, "", true}}, ""},
		"a deletion":                          {webhook(), []Change{change(update, ""), change("DELETE", "")}, []Attempt{{update, "", false}}, "DELETE cannot be replayed"},
		"a connection":                        {webhook(), []Change{change("CONNECT", "exec")}, nil, "CONNECT of exec cannot be replayed"},
		"an eviction":                         {webhook(), []Change{change(create, "eviction")}, nil, "CREATE of eviction cannot be replayed"},
		"side effects":                        {webhook(func(w *Webhook) { w.Declared.SideEffects = &someEffects }), []Change{change(update, "")}, nil, "sideEffects of the webhook is Some: API servers refuse dry runs for it"},
	} {
		got, none := test.webhook.Attempts(Entry{Resource: "configmaps", Changes: test.changes})
		installtest.Same(t, name, test.want, got)
		installtest.Same(t, name+": none", test.none, none)
	}
}

func TestSent(t *testing.T) {
	stored := object(minute(5))
	updated := Attempt{Operation: admissionregistrationv1.Update}.Sent(stored)
	installtest.Same(t, "resource version", "100", updated.GetResourceVersion())
	installtest.Same(t, "managedFields", 0, len(updated.GetManagedFields()))
	created := Attempt{Operation: admissionregistrationv1.Create, NewName: true}.Sent(stored)
	installtest.Same(t, "created", map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "generateName": "one-"},
	}, created.Object)
	installtest.Same(t, "the stored object", "one", stored.GetName())
}

func TestJudge(t *testing.T) {
	update, create := Attempt{Operation: admissionregistrationv1.Update}, Attempt{Operation: admissionregistrationv1.Create}
	renamed := Attempt{Operation: admissionregistrationv1.Create, NewName: true}
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "one")
	changed := with(object(minute(5)), func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"a": "b"}) })
	newer := with(object(minute(5)), func(u *unstructured.Unstructured) { u.SetResourceVersion("101"); u.SetGeneration(2) })
	for name, test := range map[string]struct {
		webhook Webhook
		attempt Attempt
		answer  *unstructured.Unstructured
		err     error
		want    Replay
	}{
		"admitted":             {webhook(), update, newer, nil, Replay{Result: Admitted}},
		"refused":              {webhook(), update, nil, errors.New(`admission webhook "v.shop.io" denied the request: bad`), Replay{Result: Refused, Message: `admission webhook "v.shop.io" denied the request: bad`}},
		"refused by another":   {webhook(), update, nil, errors.New(`admission webhook "w.shop.io" denied the request: bad`), Replay{Result: NotJudged, Message: `admission webhook "w.shop.io" denied the request: bad`}},
		"no answer":            {webhook(), update, nil, errors.New(`failed calling webhook "v.shop.io": EOF`), Replay{Result: NotJudged, Message: `failed calling webhook "v.shop.io": EOF`}},
		"exists":               {webhook(), create, nil, exists, Replay{Result: Admitted}},
		"a new name exists":    {webhook(mutating), renamed, nil, exists, Replay{Result: NotJudged, Message: exists.Error()}},
		"nothing changes":      {webhook(mutating), update, newer, nil, Replay{Result: Admitted}},
		"a validating webhook": {webhook(), update, changed, nil, Replay{Result: Admitted}},
		"changed":              {webhook(mutating), update, changed, nil, Replay{Result: Changed, Patch: []byte(`{"metadata":{"labels":{"a":"b"}}}`)}},
	} {
		installtest.Same(t, name, test.want, test.webhook.Judge(test.attempt, object(minute(5)), test.answer, test.err))
	}
	installtest.Same(t, "the worst", Refused, Worst([]Replay{{Result: Admitted}, {Result: NotJudged}, {Result: Refused}, {Result: Changed}}).Result)
	installtest.Same(t, "the worst of none", Admitted, Worst(nil).Result)
}

func TestUnseen(t *testing.T) {
	step := func(kind, object, name string, verdict explain.Verdict) explain.Step {
		return explain.Step{Kind: kind, Object: object, Name: name, Verdict: verdict, Reason: "because"}
	}
	ours := func(verdict explain.Verdict) explain.Step {
		return step(explain.ValidatingWebhook, "v.shop.io-x", "v.shop.io", verdict)
	}
	for name, test := range map[string]struct {
		steps []explain.Step
		want  string
	}{
		"seen":           {[]explain.Step{ours(explain.Sees)}, ""},
		"skipped":        {[]explain.Step{ours(explain.Skipped)}, "the webhook does not see the dry run (Skipped): because"},
		"not registered": {[]explain.Step{step(explain.MutatingWebhook, "v.shop.io-x", "v.shop.io", explain.Sees)}, "the webhook is not registered"},
	} {
		why, _ := webhook().Unseen(explain.Explanation{Steps: test.steps})
		installtest.Same(t, name, test.want, why)
	}
	_, others := webhook().Unseen(explain.Explanation{Steps: []explain.Step{
		ours(explain.Sees), step(explain.MutatingPolicy, "p", "", explain.Sees), step(explain.MutatingWebhook, "c", "w", explain.Sees), step(explain.MutatingWebhook, "c", "x", explain.Skipped),
	}})
	installtest.Same(t, "others", []string{"MutatingAdmissionPolicy p", "MutatingWebhookConfiguration c, w"}, others)
}

// A webhook that opened during the replay did not judge what it admitted. What it refused, it did refuse.
func TestDoubt(t *testing.T) {
	reopened := opening(func(o *managerv1alpha1.Opening) { o.From = metav1.NewTime(minute(90)) })
	for name, test := range map[string]struct {
		after  []Webhook
		result Result
		want   Result
	}{
		"stayed closed":            {[]Webhook{webhook()}, Admitted, Admitted},
		"open now":                 {[]Webhook{webhook(func(w *Webhook) { w.Open = true })}, Admitted, NotJudged},
		"opened, and closed again": {[]Webhook{webhook(func(w *Webhook) { w.Openings = append(w.Openings, reopened) })}, Admitted, NotJudged},
		"not registered any more":  {[]Webhook{webhook(func(w *Webhook) { w.Declared = nil })}, Admitted, NotJudged},
		"another webhook":          {[]Webhook{webhook(func(w *Webhook) { w.Owner = "other.v1" })}, Admitted, NotJudged},
		"not known":                {nil, Admitted, NotJudged},
		"refused":                  {nil, Refused, Refused},
		"changed":                  {nil, Changed, Changed},
	} {
		report := Report{Webhooks: []Webhook{webhook()}, Entries: []Entry{
			{Webhook: "v.shop.io", Type: webhook().Type, Owner: "shop/shop.v1", Replay: &Replay{Result: test.result}}, {Webhook: "v.shop.io"},
		}}
		report.Doubt(test.after)
		installtest.Same(t, name, test.want, report.Entries[0].Replay.Result)
		if report.Entries[1].Replay != nil {
			t.Errorf("%s: without a replay: %+v", name, report.Entries[1].Replay)
		}
	}
}
