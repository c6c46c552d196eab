package olm

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// An InstallPlan cannot create a ServiceAccount, because the webhook of another operator has no pods. The manager reports
// this for that webhook, and on the Subscription. The InstallPlan continues when that operator is uninstalled.
func TestInstallPlanThatAWebhookBlocks(t *testing.T) {
	const deployment = "projectpolicy-webhook"
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	e.serve(packageOf(catalog.Chain(stable, v1), v1))

	blocking := newEnv(t, "projectpolicy", operatorsv1.OperatorGroupSpec{})
	policy := blocking.example("projectpolicy/bundle").Release("0.1.0", interceptServiceAccounts)
	blocking.serve(packageOf(catalog.Chain(stable, policy), policy))
	blocking.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: policy.Package, Channel: stable})
	blocking.installs(policy.Package, policy.Name())
	blocking.scales(deployment, 0)
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	blocking.eventually("the WebhookRollout names the InstallPlan", func() (bool, any) {
		status := kube.Get(e, olmClient.WebhookRollouts(blocking.namespace), policy.Name()).Status
		c := meta.FindStatusCondition(status.Conditions, managerv1alpha1.ConditionBlocksInstallPlan)
		return c != nil && c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "InstallPlan "+e.namespace+"/"), status.Conditions
	})
	e.eventually("an event of the Subscription names the webhook", func() (bool, any) {
		events := kube.List(e, kubeClient.CoreV1().Events(e.namespace), metav1.ListOptions{FieldSelector: "involvedObject.kind=Subscription"}).Items
		for _, event := range events {
			if strings.Contains(event.Message, policy.CSV.Spec.WebhookDefinitions[0].GenerateName) {
				return true, nil
			}
		}
		return false, events
	})

	blocking.must(olmClient.Subscriptions(blocking.namespace).Delete(e.ctx, policy.Package, metav1.DeleteOptions{}))
	blocking.must(olmClient.ClusterServiceVersions(blocking.namespace).Delete(e.ctx, policy.Name(), metav1.DeleteOptions{}))
	e.installs(v1.Package, v1.Name())
}

// interceptServiceAccounts is an edit: API servers call the webhook for ServiceAccounts, too, which it does not know.
func interceptServiceAccounts(b *catalog.Bundle) {
	webhook := &b.CSV.Spec.WebhookDefinitions[0]
	rule := webhook.Rules[0].DeepCopy()
	rule.Resources, rule.Scope = []string{"serviceaccounts"}, nil
	webhook.Rules = append(webhook.Rules, *rule)
}

// scales sets the replicas of a Deployment, and returns when as many are ready.
func (e *env) scales(deployment string, replicas int32) {
	e.Helper()
	deployments := kubeClient.AppsV1().Deployments(e.namespace)
	kube.Patch(e, deployments, deployment, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	e.eventually(fmt.Sprintf("deployment %s has %d pods", deployment, replicas), func() (bool, any) {
		d := kube.Get(e, deployments, deployment)
		pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}).Items
		return d.Status.ReadyReplicas == replicas && len(pods) == int(replicas), d.Status
	})
}
