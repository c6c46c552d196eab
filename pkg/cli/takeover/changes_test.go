package takeover

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// What the user may not list is not known to be missing. An object next to a Deployment in another form changes.
func TestChangesOf(t *testing.T) {
	const condition, role, binding = "OperatorCondition shop/a", "Role shop/a", "RoleBinding shop/a"
	for name, test := range map[string]struct {
		unread []string
		own    []Object
		want   []string // in addition to the ClusterServiceVersion and the WebhookRollout
	}{
		"all is read":              {nil, nil, []string{condition, role, binding}},
		"Roles are not read":       {[]string{owners.Roles.Name}, nil, []string{condition, binding}},
		"a Deployment in its form": {nil, []Object{{"Service", "shop", "s"}}, []string{condition, role, binding, "Service shop/s"}},
	} {
		csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
		all := ChangesOf(Live{CSV: csv, Unread: test.unread, OwnForm: test.own})
		installtest.Same(t, name, test.want, lists.Map(all[2:], func(c Change) string { return c.Object.String() }))
	}
}
