package integration

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// limitEvictions creates a Subscription with two replicas and a limit of a budget.
func limitEvictions(e *env, limit string) {
	e.Helper()
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(map[string]string{
		"availability-disruption-budget": limit, "availability-replicas": "2", "leader-election": "true",
	})})
}

// budget returns the PodDisruptionBudget of a name; nil if it does not exist.
func budget(e *env, name string) *policyv1.PodDisruptionBudget {
	e.Helper()
	b, err := e.kube.PolicyV1().PodDisruptionBudgets(e.namespace).Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return b
}

// limits returns the limits of the manager's budget; empty if it does not exist.
func limits(e *env) string {
	e.Helper()
	b := budget(e, "server-webhooks")
	switch {
	case b == nil:
		return ""
	case b.Spec.MaxUnavailable != nil:
		return "maxUnavailable=" + b.Spec.MaxUnavailable.String()
	default:
		return "minAvailable=" + b.Spec.MinAvailable.String()
	}
}

func limitBecomes(e *env, when, want string) {
	e.Helper()
	becomes(e, when, func() string { return limits(e) }, want)
}

// budgetIsRefused waits until the reason is in the status.
func budgetIsRefused(e *env, why string) {
	e.Helper()
	becomes(e, "the status has the reason "+why, func() bool {
		return strings.Contains(conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused").Message, "does not apply to Deployment server, because "+why)
	}, true)
}

func deleteBudget(e *env, name string) {
	e.Helper()
	e.must(e.kube.PolicyV1().PodDisruptionBudgets(e.namespace).Delete(e.ctx, name, metav1.DeleteOptions{}))
}

// The annotation creates a budget with the selector of the Deployment, for pods of the version. It is repaired, follows the
// annotation, and is deleted with it, and with the operator. The permissions of manifests/manager are enough.
func TestDisruptionBudget(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	granted := grantedTo(e, "manager/clusterrole.yaml")
	limitEvictions(e, "minAvailable=1")
	m := manageThrough(e, granted)
	e.install(csv("operator.v1", "server"))
	limitBecomes(e, "a budget is created", "minAvailable=1")
	b, owner := budget(e, "server-webhooks"), e.get("operator.v1")
	selector := e.deployment("server").Spec.Selector.DeepCopy()
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: wellknown.LabelCSV, Operator: metav1.LabelSelectorOpIn, Values: []string{"operator.v1"},
	})
	installtest.Same(t, "the selector", selector, b.Spec.Selector)
	installtest.Same(t, "the owner", true, csvspec.OwnedBy(b, owner))
	installtest.Same(t, "the policy for pods that are not ready", policyv1.AlwaysAllow, *b.Spec.UnhealthyPodEvictionPolicy)
	m.settles("operator.v1")
	m.stop()
	next := manageThrough(e, granted)
	next.looksAgain("operator.v1")
	next.writesNothing(next.started)

	kube.Patch(e, e.kube.PolicyV1().PodDisruptionBudgets(e.namespace), "server-webhooks", types.MergePatchType, []byte(`{"spec": {"minAvailable": "100%"}}`))
	limitBecomes(e, "a changed limit is repaired", "minAvailable=1")
	setLimit := func(limit string) {
		reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
			c.Annotations[wellknown.AnnotationAvailabilityBudget] = limit
		})
	}
	setLimit("maxUnavailable=50%")
	limitBecomes(e, "the other limit replaces the first", "maxUnavailable=50%")
	setLimit("maxUnavailable=0")
	limitBecomes(e, "a limit that would block drains removes the budget", "")
	budgetIsRefused(e, "with spec.replicas 2 no pod could be evicted")
	next.emits("Warning ConfigRefused")
	setLimit("minAvailable=50%")
	limitBecomes(e, "the budget is recreated", "minAvailable=50%")
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		delete(c.Annotations, wellknown.AnnotationAvailabilityBudget)
	})
	limitBecomes(e, "without the annotation, there is no budget", "")

	setLimit("minAvailable=1")
	limitBecomes(e, "the budget is recreated", "minAvailable=1")
	e.uninstall("operator.v1")
	installtest.Same(t, "the limit after the operator is uninstalled", "", limits(e))
	noneIsForbidden(e, m.audited(m.started))
	noneIsForbidden(e, next.audited(next.started))
}

// kubectl scale decides about replicas: a budget that would block drains is removed, and returns when it does not.
func TestDisruptionBudgetFollowsReplicas(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	config, _ := limitedUser(e)
	limitEvictions(e, "minAvailable=1")
	m := manageThrough(e, config)
	e.install(csv("operator.v1", "server"))
	limitBecomes(e, "a budget is created", "minAvailable=1")
	scale(e, "server", 1)
	limitBecomes(e, "with one replica, there is no budget", "")
	budgetIsRefused(e, "with spec.replicas 1 no pod could be evicted")
	scale(e, "server", 3)
	limitBecomes(e, "with three replicas, there is a budget", "minAvailable=1")
	becomes(e, "nothing is refused any more", func() metav1.Condition { return conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused") }, metav1.Condition{})
	installtest.Same(t, "the replicas", int32(3), replicasOf(e, "server"))
	noneIsForbidden(e, m.audited(m.started))
}

// foreignBudget is the budget of another client.
func foreignBudget(e *env, name string, selector *metav1.LabelSelector, change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	e.Helper()
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: new(intstr.FromInt32(1))},
	}
	for _, f := range change {
		f(b)
	}
	return kube.Create(e, e.kube.PolicyV1().PodDisruptionBudgets(e.namespace), b)
}

// API servers do not evict a pod that two budgets select: the manager's one yields, and returns.
func TestSecondDisruptionBudget(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	limitEvictions(e, "maxUnavailable=1")
	all := &metav1.LabelSelector{}
	foreignBudget(e, "all", all)
	runOperator(e)
	budgetIsRefused(e, "PodDisruptionBudget all selects its pods")
	installtest.Same(t, "the limit while another budget exists", "", limits(e))
	deleteBudget(e, "all")
	limitBecomes(e, "a budget is created", "maxUnavailable=1")

	later := foreignBudget(e, "later", e.deployment("server").Spec.Selector)
	limitBecomes(e, "another budget is created for the pods", "")
	budgetIsRefused(e, "PodDisruptionBudget later selects its pods")
	kube.Patch(e, e.kube.PolicyV1().PodDisruptionBudgets(e.namespace), "later", types.MergePatchType, []byte(`{"spec": {"selector": {"matchLabels": {"for": "others"}}}}`))
	limitBecomes(e, "the other budget selects other pods", "maxUnavailable=1")
	installtest.Same(t, "the other budget", later.UID, budget(e, "later").UID)
}

// A budget with the name that the manager did not create is neither changed nor deleted, with any labels.
func TestForeignDisruptionBudgetWithTheName(t *testing.T) {
	for name, marked := range map[string]bool{"without labels": false, "with the labels of the manager": true} {
		t.Run(name, func(t *testing.T) {
			e := newOwnNamespaceEnv(t)
			limitEvictions(e, "maxUnavailable=1")
			other := foreignBudget(e, "server-webhooks", &metav1.LabelSelector{MatchLabels: map[string]string{"for": "others"}}, func(b *policyv1.PodDisruptionBudget) {
				if marked {
					b.Labels = map[string]string{
						"olm.managed": "true", "olm.owner": "operator.v1", "olm.owner.namespace": e.namespace, "olm.owner.kind": "ClusterServiceVersion",
					}
					b.Annotations = map[string]string{wellknown.AnnotationBudgetFor: "server"}
				}
			})
			m := runOperator(e)
			budgetIsRefused(e, "PodDisruptionBudget server-webhooks is not the manager's")
			m.settles("operator.v1")
			kept := budget(e, "server-webhooks")
			installtest.Same(t, "the version of the other budget", other.ResourceVersion, kept.ResourceVersion)
			deleteBudget(e, "server-webhooks")
			limitBecomes(e, "the name is free", "maxUnavailable=1")
		})
	}
}

// OLM's catalogs create the budget of a bundle with the owner and the label of the manager's own.
func TestDisruptionBudgetOfTheBundle(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	limitEvictions(e, "maxUnavailable=1")
	m := runOperator(e)
	limitBecomes(e, "a budget is created", "maxUnavailable=1")
	ours, owner := budget(e, "server-webhooks"), e.get("operator.v1")
	foreignBudget(e, "bundled", ours.Spec.Selector, func(b *policyv1.PodDisruptionBudget) {
		b.Labels, b.OwnerReferences = ours.Labels, ours.OwnerReferences
	})
	limitBecomes(e, "the bundle has a budget", "")
	budgetIsRefused(e, "PodDisruptionBudget bundled selects its pods")
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	becomes(e, "nothing is refused any more", func() metav1.Condition { return conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused") }, metav1.Condition{})
	m.settles("operator.v1")
	installtest.Same(t, "the owner of the bundle's budget", true, csvspec.Owns(owner, budget(e, "bundled")))
}

// An upgrade keeps the budget of a Deployment that both versions have, and the next version owns it. Without a Subscription, the
// annotations of the ClusterServiceVersion count.
func TestDisruptionBudgetOfAnUpgrade(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	version := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
		c := csv(name, "server")
		c.Annotations = withPrefix(map[string]string{"availability-disruption-budget": "minAvailable=1", "availability-replicas": "2", "leader-election": "true"})
		return c
	}
	e.install(version("operator.v1"))
	limitBecomes(e, "a budget is created", "minAvailable=1")
	before := budget(e, "server-webhooks")
	next := version("operator.v2")
	next.Spec.Replaces = "operator.v1"
	e.install(next)
	noLongerExist(e, "operator.v1")
	m.settles("operator.v2")
	after := budget(e, "server-webhooks")
	installtest.Same(t, "the uid", before.UID, after.UID)
	installtest.Same(t, "the next version owns it", true, csvspec.OwnedBy(after, e.get("operator.v2")))
}

// Without the manager, no budget stays that it would have to delete later. The Deployment stays.
func TestDisruptionBudgetIsRemovedWithTheManager(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	limitEvictions(e, "maxUnavailable=1")
	m := runOperator(e)
	limitBecomes(e, "a budget is created", "maxUnavailable=1")
	foreignBudget(e, "other", &metav1.LabelSelector{MatchLabels: map[string]string{"for": "others"}}, func(b *policyv1.PodDisruptionBudget) {
		b.Labels = csvspec.OwnerLabels(e.get("operator.v1"))
	})
	m.settles("operator.v1")
	m.stop()
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger(), e.namespace))
	installtest.Same(t, "the limit without the manager", "", limits(e))
	installtest.Same(t, "the budget of another client exists", true, budget(e, "other") != nil)
	installtest.Same(t, "the replicas", int32(2), replicasOf(e, "server"))
}

// The account of an OperatorGroup must be permitted to create budgets. Their deletion does not depend on it.
func TestDisruptionBudgetByInstaller(t *testing.T) {
	e := newParallelEnv(t)
	config := installsAsAccount(e)
	limitEvictions(e, "minAvailable=1")
	m := manageThrough(e, config, withOLM)
	e.install(csv("operator.v1", "server"))
	budgetIsRefused(e, "PodDisruptionBudget "+e.namespace+"/server-webhooks is not written: ")
	m.emits("Warning InstallerForbidden")
	bindInCluster(e, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "budgets-" + e.namespace}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"create", "update"},
	}}}, "installer")
	limitBecomes(e, "the account creates a budget", "minAvailable=1")
	scale(e, "server", 1)
	limitBecomes(e, "the manager deletes it", "")
}
