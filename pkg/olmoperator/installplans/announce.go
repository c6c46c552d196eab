package installplans

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans/obstacle"
)

func message(plan *operatorsv1alpha1.InstallPlan, csv *operatorsv1alpha1.ClusterServiceVersion) string {
	o, _ := obstacle.Of(plan)
	return o.Message(plan, csv)
}

// announce emits events for InstallPlans that neither this process nor the previous condition has reported.
func (r *Reporter) announce(csv *operatorsv1alpha1.ClusterServiceVersion, before *managerv1alpha1.WebhookRollout, plans []*operatorsv1alpha1.InstallPlan) {
	reported := ""
	if condition := meta.FindStatusCondition(before.Status.Conditions, managerv1alpha1.ConditionBlocksInstallPlan); condition != nil {
		reported = condition.Message
	}
	name, now := cache.MetaObjectToName(csv), sets.New[types.UID]()
	for _, plan := range plans {
		now.Insert(plan.UID)
		if !r.announced[name].Has(plan.UID) && !strings.Contains(reported, obstacle.Title(plan)+" ") {
			r.emit(csv, plan)
		}
	}
	r.announced[name] = now
}

func (r *Reporter) emit(csv *operatorsv1alpha1.ClusterServiceVersion, plan *operatorsv1alpha1.InstallPlan) {
	text := message(plan, csv)
	r.log.WithField("installplan", plan.Namespace+"/"+plan.Name).WithField("cause", text).Warn("an InstallPlan cannot continue because of a webhook")
	r.events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.ConditionBlocksInstallPlan, text)
	for _, subscription := range r.subscriptionsOf(plan) {
		r.events.Event(subscription, corev1.EventTypeWarning, managerv1alpha1.EventInstallPlanBlocked, text)
	}
}

// subscriptionsOf returns the Subscriptions that an InstallPlan is for. All Subscriptions of its namespace can be its owners,
// so the owners count only if none names it as its latest.
func (r *Reporter) subscriptionsOf(plan *operatorsv1alpha1.InstallPlan) (named []*operatorsv1alpha1.Subscription) {
	var owning []*operatorsv1alpha1.Subscription
	for _, owner := range plan.OwnerReferences {
		subscription := r.caches.Subscriptions.Get(plan.Namespace, owner.Name)
		if subscription == nil || !groupkind.IsOwner(owner, groupkind.Subscription) {
			continue
		}
		owning = append(owning, subscription)
		if ref := subscription.Status.InstallPlanRef; ref != nil && ref.Name == plan.Name {
			named = append(named, subscription)
		}
	}
	if len(named) == 0 {
		return owning
	}
	return named
}
