package execute

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// A binding that is not written is a result: without one, the same plan would follow without end.
func TestChangedRoleIsNotBound(t *testing.T) {
	step := rollout.Step{Verb: rollout.Create, Object: &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "operator"},
	}}
	r := &run{changedRoles: map[string]bool{"Role shop/operator": true}}
	plan := decide.Plan{Continues: true, Plan: rollout.Plan{Steps: []rollout.Step{step}}}
	_, err := r.apply(t.Context(), plan)
	installtest.Must(t, err)
	installtest.Same(t, "results", []decide.Result{decide.Refused{
		Step: step, Why: "RoleBinding shop/operator is not written: admission changed the rules of Role shop/operator",
	}}, r.results.Learned)
}
