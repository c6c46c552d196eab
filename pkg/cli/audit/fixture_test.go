package audit

import (
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// The opening of all tests lasts from noon to one o'clock.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func minute(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }

func opening(changes ...func(*managerv1alpha1.Opening)) managerv1alpha1.Opening {
	o := managerv1alpha1.Opening{
		From: metav1.Time{Time: noon}, AllFrom: stamp(noon), Until: stamp(minute(60)), ClosedBy: managerv1alpha1.ClosedServed,
	}
	for _, change := range changes {
		change(&o)
	}
	return o
}

var configMaps = explain.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespaced: true,
}

func served() Served {
	status := configMaps
	status.Subresource = "status"
	events := explain.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Event"}, Namespaced: true}
	otherEvents := explain.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}, Kind: schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, Namespaced: true,
	}
	deployments := func(version string) explain.Resource {
		group := schema.GroupVersion{Group: "apps", Version: version}
		return explain.Resource{GroupVersionResource: group.WithResource("deployments"), Kind: group.WithKind("Deployment"), Namespaced: true}
	}
	return Served{
		Resources: []explain.Resource{configMaps, status, events, otherEvents, deployments("v1"), deployments("v1beta1")},
		Namespaces: []corev1.Namespace{
			{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"scope": "yes"}}}, {ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		},
	}
}

// webhook sees creations and changes of ConfigMaps in the namespace shop.
func webhook(changes ...func(*Webhook)) Webhook {
	none := admissionregistrationv1.SideEffectClassNone
	w := Webhook{
		Name: "v.shop.io", Type: operatorsv1alpha1.ValidatingAdmissionWebhook, Namespace: "shop", Owner: "shop.v1", Configuration: "v.shop.io-x",
		Openings: []managerv1alpha1.Opening{opening()},
		Declared: &admissionregistrationv1.ValidatingWebhook{
			Name: "v.shop.io", SideEffects: &none, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"scope": "yes"}},
			ObjectSelector: &metav1.LabelSelector{}, Rules: rule("", "v1", "configmaps", admissionregistrationv1.Create, admissionregistrationv1.Update),
		},
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func rule(group, version, resource string, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
	}}
}

func onCondition(expression string) func(*Webhook) {
	return func(w *Webhook) {
		w.Declared.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "only-some", Expression: expression}}
	}
}

// object is a ConfigMap that was created some minutes after noon; entries of managedFields follow.
func object(created time.Time, entries ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetNamespace("shop")
	u.SetName("one")
	u.SetUID("uid-one")
	u.SetResourceVersion("100")
	u.SetCreationTimestamp(metav1.NewTime(created))
	u.SetManagedFields(append([]metav1.ManagedFieldsEntry{entry("creator", created)}, entries...))
	return u
}

func entry(manager string, t time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Time: stamp(t)}
}

func observed(u *unstructured.Unstructured) Object {
	o := Observe(configMaps, u)
	o.Content = u
	return o
}

// text is an entry in one line.
func text(e Entry) string {
	all := fmt.Sprintf("%s/%s %s %s:", e.Namespace, e.Name, e.State, e.Certainty)
	for _, c := range e.Changes {
		all += fmt.Sprintf(" %s %s %s", c.Certainty, c.Operation, c.Evidence)
		if c.Subresource != "" {
			all += " /" + c.Subresource
		}
		if by := c.User + c.Manager; by != "" {
			all += " by " + by
		}
	}
	return all
}

// logLine is an event of an audit log, with the options of a deletion.
func logLine(verb, name string, t time.Time, changes ...func(map[string]any)) map[string]any {
	event := map[string]any{
		"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete", "verb": verb,
		"auditID": types.UID(verb + name + t.String()), "requestURI": "/api/v1/namespaces/shop/configmaps", "user": map[string]any{"username": "alice"},
		"objectRef":      map[string]any{"resource": "configmaps", "namespace": "shop", "name": name, "apiVersion": "v1"},
		"responseStatus": map[string]any{"code": 200}, "requestReceivedTimestamp": metav1.NewMicroTime(t), "stageTimestamp": metav1.NewMicroTime(t.Add(time.Second)),
	}
	if strings.HasPrefix(verb, "delete") {
		event["level"], event["requestObject"] = "Request", map[string]any{"kind": "DeleteOptions", "apiVersion": "v1"}
	}
	for _, change := range changes {
		change(event)
	}
	return event
}

func unanswered(event map[string]any) {
	event["annotations"] = map[string]any{"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "fail-open.v.shop.io"}
}
