package rollout

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The role of a RoleBinding is immutable. One that was recreated for another role is deleted if it is owned
// by uid, and created in the next reconciliation. Else it is reported, and nothing is written.
func TestRoleBindingForAnotherRole(t *testing.T) {
	const key = "RoleBinding shop/manager-service-cert"
	c := installed(t, webhookOf("manager"))
	rebind := func() *rbacv1.RoleBinding {
		live := c.Observed.RoleBindings["manager-service-cert"]
		live.UID, live.RoleRef.Name, live.ManagedFields = "recreated", "admin", nil
		return live
	}
	rebind()
	plan := c.reconcileContest()
	installtest.Same(t, "steps", []string{"delete " + key + ": roleRef"}, stepsOf(plan))
	installtest.Same(t, "reason", "cannot be changed in roleRef", plan.Steps[0].Why())
	installtest.Same(t, "next steps", []string{"create " + key}, stepsOf(c.reconcileContest()))
	installtest.Same(t, "further steps", []string(nil), stepsOf(c.reconcileContest()))
	deletions := 1
	for range 10 {
		rebind()
		deletions += installtest.Count(append(c.reconcileContest().Steps, c.reconcileContest().Steps...), deletes)
	}
	installtest.Same(t, "deletions in a contest", 3, deletions)

	c = installed(t, webhookOf("manager"))
	rebind().OwnerReferences = nil
	plan = c.reconcile()
	installtest.Same(t, "steps for the binding of another client", []string(nil), stepsOf(plan))
	installtest.Prefix(t, "the message", key+" binds Role admin instead of Role manager-service-cert", plan.Status.Deployments[0].Message)

	c = installed(t, webhookOf("manager"))
	kept := rebind()
	kept.DeletionTimestamp, kept.Finalizers = new(metav1.NewTime(noon)), []string{"example.com/keep"}
	plan = c.reconcile()
	installtest.Same(t, "steps for a binding that a finalizer keeps", []string(nil), stepsOf(plan))
	installtest.Says(t, "the message", ", and finalizers keep it from being deleted: example.com/keep", plan.Status.Deployments[0].Message)
}
