package audit

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestListOfOneObject(t *testing.T) {
	before, after := minute(-30), minute(90)
	updatesOnly := func(w *Webhook) {
		w.Declared.Rules = rule("", "v1", "configmaps", admissionregistrationv1.Update)
	}
	partly := func(expression string) func(*Webhook) {
		return func(w *Webhook) {
			w.Openings = []managerv1alpha1.Opening{opening(func(o *managerv1alpha1.Opening) { o.AllFrom, o.Requests = nil, expression })}
		}
	}
	labelled := func(w *Webhook) {
		w.Declared.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	}
	status := entry("kubelet", minute(5))
	status.Subresource = "status"
	const created, changed = "shop/one Exists Certain: Certain CREATE CreationTimestamp by creator", "shop/one Exists Certain: Certain UPDATE ManagedFields by editor"
	for name, test := range map[string]struct {
		object  *unstructured.Unstructured
		changes []func(*Webhook)
		want    string // the entry; empty for none
		reason  string
	}{
		"created":                               {object: object(minute(5)), want: created},
		"created before":                        {object: object(before)},
		"created after":                         {object: object(after)},
		"created in the second of the end":      {object: object(minute(60)), want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "shortly after the end"},
		"created in the second before the end":  {object: object(minute(60).Add(-time.Second)), want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "shortly after the end"},
		"created in the second of the start":    {object: object(noon), want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "shortly before the beginning"},
		"a long request before":                 {object: object(noon.Add(-30 * time.Second)), want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "shortly before the beginning"},
		"too long before":                       {object: object(noon.Add(-40 * time.Second))},
		"created shortly after, validating":     {object: object(minute(60).Add(20 * time.Second))},
		"created shortly after, mutating":       {object: object(minute(60).Add(20 * time.Second)), changes: []func(*Webhook){mutating}, want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "shortly after the end"},
		"changed":                               {object: object(before, entry("editor", minute(5))), want: changed},
		"created and changed":                   {object: object(minute(5), entry("editor", minute(6))), want: created + " Certain UPDATE ManagedFields by editor"},
		"changed later":                         {object: object(before, entry("editor", after)), want: "shop/one Exists Possible: Possible UPDATE ManagedFields by editor", reason: "this hides its earlier changes"},
		"changed, and later by another manager": {object: object(before, entry("editor", minute(5)), entry("other", after)), want: changed},
		"a subresource that no rule names":      {object: object(before, status)},
		"a subresource": {object: object(before, status), changes: []func(*Webhook){func(w *Webhook) {
			w.Declared.Rules = rule("", "v1", "configmaps/*", admissionregistrationv1.Update)
		}}, want: "shop/one Exists Certain: Certain UPDATE ManagedFields /status by kubelet"},
		"a change in the second of the creation": {object: object(minute(5)), changes: []func(*Webhook){updatesOnly}, want: "shop/one Exists Possible: Possible UPDATE CreationTimestamp by creator", reason: "in the second of the creation"},
		"no managedFields":                       {object: with(object(before), func(u *unstructured.Unstructured) { u.SetManagedFields(nil) }), want: "shop/one Exists Possible: Possible UPDATE ManagedFields", reason: "managedFields is empty"},
		"another namespace":                      {object: with(object(minute(5)), func(u *unstructured.Unstructured) { u.SetNamespace("other") })},
		"not selected":                           {object: object(minute(5)), changes: []func(*Webhook){labelled}},
		"not selected any more": {object: object(minute(5), entry("editor", minute(6))), changes: []func(*Webhook){labelled},
			want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "objectSelector does not select the object now"},
		"a condition on the user":       {object: object(minute(5)), changes: []func(*Webhook){onCondition("request.userInfo.username != 'system:node'")}, want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "matchCondition only-some depends on"},
		"a condition that is false":     {object: object(minute(5)), changes: []func(*Webhook){onCondition("request.userInfo.username == 'a' && object.metadata.name == 'two'")}},
		"a condition on an old content": {object: object(minute(5), entry("editor", minute(6))), changes: []func(*Webhook){onCondition("object.metadata.name == 'two'")}, want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "depends on"},
		"open for other requests":       {object: object(minute(5)), changes: []func(*Webhook){partly("request.namespace == 'other'")}},
		"open for these requests":       {object: object(minute(5)), changes: []func(*Webhook){partly("'system:nodes' in request.userInfo.groups || request.namespace == 'shop'")}, want: created},
		"open for some users":           {object: object(minute(5)), changes: []func(*Webhook){partly("'system:nodes' in request.userInfo.groups || request.namespace == 'other'")}, want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "the condition of the opening depends on"},
		"a condition that is no CEL":    {object: object(minute(5)), changes: []func(*Webhook){onCondition("object.")}, want: "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator", reason: "cannot be evaluated"},
		"still open": {object: object(after), changes: []func(*Webhook){func(w *Webhook) {
			w.Openings = []managerv1alpha1.Opening{opening(func(o *managerv1alpha1.Opening) { o.ClosedBy = "" })}
		}}, want: created},
		"deleted, and kept by finalizers": {object: with(object(before), func(u *unstructured.Unstructured) {
			u.SetDeletionTimestamp(stamp(minute(5).Add(30 * time.Second)))
			u.SetDeletionGracePeriodSeconds(new(int64(30)))
		}), changes: []func(*Webhook){func(w *Webhook) {
			w.Declared.Rules = rule("", "v1", "configmaps", admissionregistrationv1.Delete)
		}}, want: "shop/one Exists Certain: Certain DELETE DeletionTimestamp"},
		"not registered": {object: object(minute(5)), changes: []func(*Webhook){func(w *Webhook) { w.Declared = nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			report := List(Facts{Webhooks: []Webhook{webhook(test.changes...)}, Served: served(), Objects: []Object{observed(test.object)}})
			installtest.Same(t, "entry", test.want, strings.Join(lists.Map(report.Entries, text), "\n"))
			if len(report.Entries) == 1 && !strings.Contains(report.Entries[0].Changes[0].Reason, test.reason) {
				t.Errorf("reason %q, want %q", report.Entries[0].Changes[0].Reason, test.reason)
			}
		})
	}
}

func with(u *unstructured.Unstructured, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	change(u)
	return u
}

// A tenant changes the times in managedFields, or only removes fields. The order of the resource versions shows it, if an
// object of the resource has a time in the opening and a smaller resource version.
func TestResourceVersionsShowChanges(t *testing.T) {
	forged := func(version string) Object {
		return observed(with(object(minute(-30)), func(u *unstructured.Unstructured) { u.SetResourceVersion(version) }))
	}
	honest := observed(with(object(minute(5)), func(u *unstructured.Unstructured) {
		u.SetName("honest")
		u.SetUID("uid-honest")
		u.SetResourceVersion("150")
	}))
	for version, want := range map[string]string{
		"200": "shop/one Exists Possible: Possible UPDATE ResourceVersion", "100": "", "none": "", "1000": "shop/one Exists Possible: Possible UPDATE ResourceVersion",
	} {
		report := List(Facts{Webhooks: []Webhook{webhook()}, Served: served(), Objects: []Object{forged(version), honest}})
		found := lists.FilterMap(report.Entries, func(e Entry) (string, bool) { return text(e), e.Name == "one" })
		installtest.Same(t, "resource version "+version, want, strings.Join(found, "\n"))
	}
}

// A controller updates the status, which the webhook does not see, after a tenant removed a field or changed managedFields. The
// status explains the resource version, and does not exclude the change.
func TestStatusUpdatesDoNotExplainResourceVersions(t *testing.T) {
	honest := observed(with(object(minute(5)), func(u *unstructured.Unstructured) {
		u.SetName("honest")
		u.SetUID("uid-honest")
		u.SetResourceVersion("150")
	}))
	byStatus := func(at int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "controller", Subresource: "status", Time: stamp(minute(at))}
	}
	onlyStatus := func(u *unstructured.Unstructured) { u.SetManagedFields(u.GetManagedFields()[1:]) }
	seesStatus := func(w *Webhook) {
		w.Declared.Rules = append(w.Declared.Rules, rule("", "v1", "configmaps/status", admissionregistrationv1.Update)...)
	}
	const possible = "shop/one Exists Possible: Possible UPDATE ResourceVersion"
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		version string
		changes []func(*unstructured.Unstructured)
		webhook func(*Webhook)
		want    string
		reason  string
	}{
		"status before":               {[]metav1.ManagedFieldsEntry{byStatus(-10)}, "200", nil, nil, possible, "does not: fields were removed"},
		"status in the opening":       {[]metav1.ManagedFieldsEntry{byStatus(30)}, "200", nil, nil, possible, "only shows that field manager controller changed status at 2026-03-01T12:30:00Z"},
		"status after the opening":    {[]metav1.ManagedFieldsEntry{byStatus(90)}, "200", nil, nil, possible, "which the webhook does not see: fields may have been removed, too"},
		"an older version":            {[]metav1.ManagedFieldsEntry{byStatus(-10)}, "100", nil, nil, "", ""},
		"the webhook sees the status": {[]metav1.ManagedFieldsEntry{byStatus(30)}, "200", nil, seesStatus, "shop/one Exists Certain: Certain UPDATE ManagedFields /status by controller", ""},
		"managedFields was removed":   {[]metav1.ManagedFieldsEntry{byStatus(90)}, "100", []func(*unstructured.Unstructured){onlyStatus}, nil, "shop/one Exists Possible: Possible UPDATE ManagedFields", "a client removed it"},
		"the webhook sees no updates": {[]metav1.ManagedFieldsEntry{byStatus(30)}, "200", nil, func(w *Webhook) { w.Declared.Rules = rule("", "v1", "configmaps", admissionregistrationv1.Create) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := object(minute(-30), test.entries...)
			u.SetResourceVersion(test.version)
			for _, change := range test.changes {
				change(u)
			}
			w := webhook()
			if test.webhook != nil {
				test.webhook(&w)
			}
			report := List(Facts{Webhooks: []Webhook{w}, Served: served(), Objects: []Object{observed(u), honest}})
			found := lists.Filter(report.Entries, func(e Entry) bool { return e.Name == "one" })
			installtest.Same(t, "entry", test.want, strings.Join(lists.Map(found, text), "\n"))
			if len(found) == 1 {
				installtest.Contains(t, found[0].Changes[0].Reason+" ", test.reason)
			}
		})
	}
}

// When an opening is widened, its requests are others.
func TestWidenedOpening(t *testing.T) {
	w := webhook(func(w *Webhook) {
		w.Openings = []managerv1alpha1.Opening{opening(func(o *managerv1alpha1.Opening) {
			o.AllFrom, o.Requests, o.AllRequests = stamp(minute(10)), "false", "request.resource.resource == 'configmaps'"
		})}
	})
	for at, want := range map[time.Time]string{
		minute(5): "", minute(20): "shop/one Exists Certain: Certain CREATE CreationTimestamp by creator", minute(10): "shop/one Exists Possible: Possible CREATE CreationTimestamp by creator",
	} {
		report := List(Facts{Webhooks: []Webhook{w}, Served: served(), Objects: []Object{observed(object(at))}})
		installtest.Same(t, at.String(), want, strings.Join(lists.Map(report.Entries, text), "\n"))
	}
}

func TestScope(t *testing.T) {
	for name, test := range map[string]struct {
		rules []admissionregistrationv1.RuleWithOperations
		want  string
	}{
		"one version":               {rule("apps", "v1beta1", "deployments", "*"), "apps/v1beta1, Resource=deployments"},
		"an equivalent version":     {rule("apps", "v2", "deployments", "*"), "apps/v1, Resource=deployments"},
		"a subresource":             {rule("", "*", "configmaps/status", "*"), "/v1, Resource=configmaps"},
		"events once":               {rule("*", "*", "events", "*"), "/v1, Resource=events"},
		"events of the other group": {rule("events.k8s.io", "*", "events", "*"), "events.k8s.io/v1, Resource=events"},
		"another group":             {rule("batch", "*", "*", "*"), ""},
	} {
		w := webhook(func(w *Webhook) { w.Declared.Rules = test.rules })
		got := lists.FilterMap(w.Scope(served().Resources), func(r explain.Resource) (string, bool) { return r.String(), true })
		installtest.Same(t, name, test.want, strings.Join(got, "; "))
	}
}
