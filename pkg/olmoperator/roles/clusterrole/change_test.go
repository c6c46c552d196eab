package clusterrole

import (
	"encoding/json"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestBelongs(t *testing.T) {
	group, api := OfGroup("shop", "og", nil)[0], OfDefinition(orders(), "v1")[0]
	for name, test := range map[string]struct {
		desired *rbacv1.ClusterRole
		change  func(live *rbacv1.ClusterRole)
		want    bool
	}{
		"of the group":                       {group, func(*rbacv1.ClusterRole) {}, true},
		"of the group, edited":               {group, func(live *rbacv1.ClusterRole) { live.Rules = api.Rules }, true},
		"of another group":                   {group, func(live *rbacv1.ClusterRole) { live.Labels["olm.owner.namespace"] = "blue" }, false},
		"without labels":                     {group, func(live *rbacv1.ClusterRole) { live.Labels = nil }, false},
		"of the definition":                  {api, func(*rbacv1.ClusterRole) {}, true},
		"of the definition, edited":          {api, func(live *rbacv1.ClusterRole) { live.Rules, live.Labels = nil, nil }, true},
		"of the definition, as OLM v0 wrote": {api, func(live *rbacv1.ClusterRole) { live.OwnerReferences[0].Kind = "customresourcedefinition" }, true},
		"of a former definition of the name": {api, func(live *rbacv1.ClusterRole) { live.OwnerReferences[0].UID = "former" }, false},
		"without an owner":                   {api, func(live *rbacv1.ClusterRole) { live.OwnerReferences = nil }, false},
	} {
		live := test.desired.DeepCopy()
		test.change(live)
		installtest.Same(t, name, test.want, Belongs(test.desired, live))
	}
}

func TestSuffices(t *testing.T) {
	desired := OfDefinition(orders(), "v1")[1]
	for name, test := range map[string]struct {
		change func(live *rbacv1.ClusterRole)
		want   bool
	}{
		"the same, of another owner": {func(live *rbacv1.ClusterRole) { live.OwnerReferences = nil }, true},
		"with another label":         {func(live *rbacv1.ClusterRole) { live.Labels["example.com/a"] = "b" }, true},
		"without a label":            {func(live *rbacv1.ClusterRole) { delete(live.Labels, "olm.managed") }, false},
		"with other rules":           {func(live *rbacv1.ClusterRole) { live.Rules = nil }, false},
	} {
		live := desired.DeepCopy()
		test.change(live)
		installtest.Same(t, name, test.want, Suffices(desired, live))
	}
}

// Each change is one merge patch. A second comparison finds nothing, so the manager rests.
func TestBetween(t *testing.T) {
	some := []string{"Order.v1.example.com"}
	group, empty, api := OfGroup("shop", "og", some)[0], OfGroup("shop", "og", nil)[0], OfDefinition(orders(), "v1")[0]
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "a", UID: "other"}
	for name, test := range map[string]struct {
		desired *rbacv1.ClusterRole
		live    func(live *rbacv1.ClusterRole)
		patch   string
	}{
		"no change":                             {api, func(*rbacv1.ClusterRole) {}, ""},
		"with a label of another client":        {api, func(live *rbacv1.ClusterRole) { live.Labels["example.com/a"] = "b" }, ""},
		"with rules that Kubernetes aggregated": {group, func(live *rbacv1.ClusterRole) { live.Rules = api.Rules }, ""},
		"with another owner":                    {api, func(live *rbacv1.ClusterRole) { live.OwnerReferences = append(live.OwnerReferences, other) }, ""},
		"with more rules": {api, func(live *rbacv1.ClusterRole) { live.Rules = append(live.Rules, live.Rules...) },
			`{"metadata":{"resourceVersion":"7","uid":"u"},"rules":[{"verbs":["*"],"apiGroups":["example.com"],"resources":["orders"]}]}`},
		"without a label": {api, func(live *rbacv1.ClusterRole) { delete(live.Labels, "olm.managed") },
			`{"metadata":{"labels":{"olm.managed":"true"},"resourceVersion":"7","uid":"u"}}`},
		"as OLM v0 wrote the owner": {api, func(live *rbacv1.ClusterRole) {
			live.OwnerReferences[0].Kind = "customresourcedefinition"
			live.OwnerReferences = append(live.OwnerReferences, other)
		}, ""},
		"that includes others": {api, func(live *rbacv1.ClusterRole) { live.AggregationRule = group.AggregationRule },
			`{"aggregationRule":null,"metadata":{"resourceVersion":"7","uid":"u"}}`},
		"of a group with the first API": {group, func(live *rbacv1.ClusterRole) { live.AggregationRule = nil },
			`{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"olm.opgroup.permissions/aggregate-to-5822ba8a803eb7c1-admin":"true"}}]},"metadata":{"resourceVersion":"7","uid":"u"}}`},
		// OLM v0 leaves the rules.
		"of a group without APIs any more": {empty, func(live *rbacv1.ClusterRole) { live.AggregationRule, live.Rules = group.AggregationRule, api.Rules },
			`{"aggregationRule":null,"metadata":{"resourceVersion":"7","uid":"u"},"rules":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			live := test.desired.DeepCopy()
			test.live(live)
			live.UID, live.ResourceVersion = "u", "7"
			change := Between(test.desired, live)
			if change.None() {
				installtest.Same(t, "patch", test.patch, "")
				return
			}
			installtest.Same(t, "patch", test.patch, string(installtest.OrPanic(json.Marshal(change.Patch(test.desired, live)))))
			if len(change.Fields(test.desired)) == 0 {
				t.Error("the change has no fields, so it does not count as a repair")
			}
		})
	}
}
