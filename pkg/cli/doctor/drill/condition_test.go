package drill

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// API servers omit empty fields of a request. A proposed matchCondition does not fail then: with failurePolicy Fail, API servers
// would refuse each such request, also while the webhook serves.
func TestProposedConditionsDoNotFail(t *testing.T) {
	nodes := resource(corev1.SchemeGroupVersion, "nodes", "status", "Node", false)
	volumes := resource(corev1.SchemeGroupVersion, "persistentvolumes", "", "PersistentVolume", false)
	pod := func(namespace string) client {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace}}
	}
	volume, node := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	alice, withoutGroups := explain.Impersonated("alice", nil), explain.User{Name: "alice"}
	inNamespaces := strings.Replace(hook("a", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods, persistentvolumes]}]`), "metadata: {name: a}", declaredByCSV, 1)
	ofNodes := hook("a", `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [nodes/*]}]`)
	for name, test := range map[string]struct {
		given   string
		request request
		want    explain.Verdict
	}{
		"a cluster-scoped object":  {inNamespaces, creating(volumes, volume, alice), explain.Sees},
		"another Namespace":        {inNamespaces, creating(pods, pod("shop"), alice), explain.Sees},
		"a Namespace to leave out": {inNamespaces, creating(pods, pod("a"), alice), explain.Skipped},
		"a user without groups":    {ofNodes, updating(nodes, node, node, withoutGroups), explain.Sees},
		"another user":             {ofNodes, updating(nodes, node, node, alice), explain.Sees},
		"a kubelet":                {ofNodes, updating(nodes, node, node, kubelet("one")), explain.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(t, parse(t, base+operator("a")+operator("shop")+test.given))
			change := installtest.OrPanic(Predict(s)).Cycles[0].Changes[0]
			installtest.Same(t, "the change", MatchCondition, change.Kind)
			w := &s.Admission.ValidatingWebhooks[0].Webhooks[0]
			w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "proposed", Expression: change.condition}}
			step := installtest.OrPanic(explain.Explain(s.Admission, installtest.OrPanic(test.request.explained()))).Steps[0]
			installtest.Same(t, "after the change: "+step.Reason, test.want, step.Verdict)
		})
	}
}
