package explain

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestConversion(t *testing.T) {
	const (
		create, update, remove = admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete
		written                = "the request has version v1alpha1, and the API server stores version v1"
	)
	alphaHook := hook(ValidatingWebhook, "one", `rules: [{operations: ["*"], apiGroups: [example.com], apiVersions: [v1alpha1], resources: [widgets]}]`)
	for name, test := range map[string]struct {
		strategy, version string
		operation         admissionregistrationv1.OperationType
		stored            []string
		webhooks          []string
		want              string
	}{
		"the storage version":                   {"Webhook", "v1", create, []string{"v1alpha1", "v1"}, nil, ""},
		"another version":                       {"Webhook", "v1alpha1", create, nil, nil, written},
		"another version, without a webhook":    {"None", "v1alpha1", create, nil, nil, ""},
		"an update":                             {"Webhook", "v1alpha1", update, []string{"v1alpha1"}, nil, written},
		"an update of an object that is old":    {"Webhook", "v1", update, []string{"v1alpha1", "v1"}, nil, "the request has version v1, and the object may be stored in version v1alpha1"},
		"an update in the only stored version":  {"Webhook", "v1", update, []string{"v1"}, nil, ""},
		"a deletion":                            {"Webhook", "v1alpha1", remove, nil, nil, "the request has version v1alpha1, and the object may be stored in version v1"},
		"a deletion in the only stored version": {"Webhook", "v1alpha1", remove, []string{"v1alpha1"}, nil, ""},
		"a webhook gets another version":        {"Webhook", "v1", create, nil, []string{alphaHook}, "ValidatingWebhookConfiguration one gets the object in version example.com/v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(t, test.strategy, test.webhooks...)
			s.Definitions[0].Status.StoredVersions = test.stored
			r := creation(t, s, widget(test.version))
			r.Operation, r.Old = test.operation, widget(test.version)
			e, err := Explain(s, r)
			installtest.Must(t, err)
			var want *Conversion
			if test.want != "" {
				want = &Conversion{"widgets.example.com", test.want, "a conversion webhook has no failurePolicy: without an answer the request fails"}
			}
			installtest.Same(t, "conversion", want, e.Conversion)
		})
	}
}

func TestReinvocationPolicy(t *testing.T) {
	for policy, want := range map[string]string{"IfNeeded": "IfNeeded", "Never": ""} {
		s := snapshot(t, "None", hook(MutatingWebhook, "one", "reinvocationPolicy: "+policy), `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec: {reinvocationPolicy: `+policy+`}
`)
		e, err := Explain(s, creation(t, s, widget("v1")))
		installtest.Must(t, err)
		for _, step := range e.Steps {
			installtest.Same(t, step.Kind, want, step.ReinvocationPolicy)
		}
	}
}

// What is not known of a user is known for some conditions only.
func TestUIDAndExtraOfTheUser(t *testing.T) {
	incomplete := Impersonated("alice", nil)
	complete := User{Name: "alice", UID: "u", Extra: map[string][]string{"pod": {"a"}}, Complete: true}
	for name, test := range map[string]struct {
		user            User
		condition, want string
	}{
		"uid":                         {complete, "request.userInfo.uid == 'u'", "Sees"},
		"extra":                       {complete, "'a' in request.userInfo.extra['pod']", "Sees"},
		"uid that is not known":       {incomplete, "request.userInfo.uid == 'u'", notKnown("request.userInfo.uid")},
		"extra that is not known":     {incomplete, "has(request.userInfo.extra)", notKnown("request.userInfo.extra")},
		"extra of another user":       {incomplete, "request.userInfo.username == 'bob' && 'pod' in request.userInfo.extra", isFalse},
		"the name and the groups":     {incomplete, "request.userInfo.username == 'alice' && 'system:authenticated' in request.userInfo.groups", "Sees"},
		"a condition with a dry run":  {incomplete, "request.dryRun || request.userInfo.uid == 'u'", notKnown("request.userInfo.uid")},
		"a comment in the expression": {incomplete, "request.userInfo.uid == 'u' // uid", notKnown("request.userInfo.uid")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, operation := range []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete} {
				s := kindsWith(t, conditional(MutatingWebhook, test.condition))
				r := creation(t, s, objectOf(widgetKind+fromCluster))
				r.Operation, r.Old, r.User = operation, objectOf(widgetKind+fromCluster), test.user
				installtest.Same(t, string(operation), test.want, onlyStep(t, s, r))
			}
		})
	}
}
