package integration

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A client creates and deletes a budget for the pods. The manager deletes its own each time. After the third time, it creates it again
// only after a pause, and reports that.
func TestDisruptionBudgetIsContested(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	limitEvictions(e, "maxUnavailable=1")
	m := runOperator(e)
	for range 3 {
		limitBecomes(e, "a budget is created", "maxUnavailable=1")
		foreignBudget(e, "tenant", &metav1.LabelSelector{})
		limitBecomes(e, "another budget is created for the pods", "")
		deleteBudget(e, "tenant")
	}
	e.isContested("operator.v1", "server-webhooks: other clients keep creating and deleting PodDisruptionBudgets for its pods; the manager creates it again at ")
	m.settles("operator.v1")
	installtest.Same(t, "the limit in the pause", "", limits(e))
}

// A budget that blocks drains is deleted if the account of the OperatorGroup is not permitted to correct it.
func TestDisruptionBudgetThatCannotBeCorrected(t *testing.T) {
	e := newParallelEnv(t)
	config := installsAsAccount(e)
	limitEvictions(e, "minAvailable=1")
	manageThrough(e, config, withOLM)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "budgets-" + e.namespace}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"create", "update"},
	}}}
	bindInCluster(e, role, "installer")
	e.install(csv("operator.v1", "server"))
	limitBecomes(e, "a budget is created", "minAvailable=1")
	role.Rules[0].Verbs = []string{"get"}
	kube.Update(e, e.kube.RbacV1().ClusterRoles(), role)
	for _, verb := range []string{"create", "update"} {
		awaitDenied(e, userOf(e, "installer"), authorizationv1.ResourceAttributes{Namespace: e.namespace, Group: "policy", Resource: "poddisruptionbudgets", Verb: verb})
	}
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations[wellknown.AnnotationAvailabilityBudget] = "maxUnavailable=1"
	})
	budgetIsRefused(e, "PodDisruptionBudget "+e.namespace+"/server-webhooks is not written: ")
	installtest.Same(t, "the old limit while it blocks no drain", "minAvailable=1", limits(e))
	scale(e, "server", 1)
	limitBecomes(e, "the old limit blocks drains", "")
}

// Without the annotation, there is no budget, also while a requirement is not met.
func TestDisruptionBudgetEndsWithTheAnnotation(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	limitEvictions(e, "maxUnavailable=1")
	runOperator(e)
	limitBecomes(e, "a budget is created", "maxUnavailable=1")
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.MinKubeVersion = "99.0.0" })
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	installtest.Same(t, "the limit while a requirement is not met", "maxUnavailable=1", limits(e))
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	limitBecomes(e, "the annotation is removed", "")
}
