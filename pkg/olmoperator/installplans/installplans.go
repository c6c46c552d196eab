// Package installplans reports InstallPlans that cannot continue because of a webhook of an operator: in the
// WebhookRollout of the operator, and by an event on the Subscription. catalog-operator writes the status of both
// InstallPlans and Subscriptions.
package installplans

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans/obstacle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Reporter reconciles the ClusterServiceVersions with a webhook that an InstallPlan cannot continue without.
type Reporter struct {
	olm    *olmclient.Client
	caches *informers.Caches
	events record.EventRecorder
	log    *logrus.Entry
	loop   *loop.Loop // has one worker, which alone uses announced
	// announced are the InstallPlans that events have reported. A new process has only those of the conditions.
	announced map[cache.ObjectName]sets.Set[types.UID]
}

// New adds indexes and handlers to the caches, which must not have been started.
func New(olm *olmclient.Client, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry) (*Reporter, error) {
	r := &Reporter{olm: olm, caches: caches, events: events, log: log, announced: map[cache.ObjectName]sets.Set[types.UID]{}}
	r.loop = loop.New(r.reconcile, log)
	return r, r.watch()
}

func (r *Reporter) watch() error {
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		indexers cache.Indexers
		changed  func(before, after drift.Object)
	}{
		{r.caches.Plans.Informers[0], planIndexers, r.planChanged},
		{r.caches.CSVs.Informers[0], csvIndexers, r.operatorChanged},
		{r.caches.Rollouts.Informers[0], nil, r.operatorChanged},
	} {
		if err := watched.informer.AddIndexers(watched.indexers); err != nil {
			return err
		}
		if _, err := watched.informer.AddEventHandler(informers.Handler(watched.changed)); err != nil {
			return err
		}
	}
	return r.caches.CRDs.Informers[0].AddIndexers(crdIndexers)
}

// Fill fills nothing: a cluster without the kind InstallPlan has none to report.
func (*Reporter) Fill(context.Context) error { return nil }

// Run reconciles until the context ends.
func (r *Reporter) Run(ctx context.Context) { r.loop.Run(ctx, 1) }

// planChanged includes the other InstallPlans of the namespace: a later one supersedes them.
func (r *Reporter) planChanged(before, after drift.Object) {
	affected := []drift.Object{before, after}
	if before == nil || after == nil {
		for _, o := range affected {
			if o != nil {
				affected = append(affected, drift.Objects(r.caches.Plans.In(o.GetNamespace()))...)
			}
		}
	}
	for _, o := range affected {
		if plan, exists := o.(*operatorsv1alpha1.InstallPlan); exists {
			r.enqueue(plan)
		}
	}
}

func (r *Reporter) enqueue(plan *operatorsv1alpha1.InstallPlan) {
	found, blocked := obstacle.Of(plan)
	if !blocked {
		return
	}
	for _, value := range r.webhookValues(found) {
		for _, csv := range r.caches.CSVs.By(byWebhook, value) {
			if found.In(csv.Namespace) {
				r.add(csv)
			}
		}
	}
}

// webhookValues are the values of byWebhook for an obstacle.
func (r *Reporter) webhookValues(o obstacle.Obstacle) []string {
	if o.Webhook != "" {
		return []string{webhookValue(o.Webhook)}
	}
	var values []string
	for _, crd := range r.caches.CRDs.By(byKind, kindValue(o.Converted)) {
		values = append(values, definitionValue(crd.Name))
	}
	return values
}

// operatorChanged is for ClusterServiceVersions and WebhookRollouts, which have the same name.
func (r *Reporter) operatorChanged(before, after drift.Object) {
	if after == nil {
		r.loop.Add(cache.MetaObjectToName(before))
		return
	}
	rollout, csv := r.caches.Rollouts.Get(after.GetNamespace(), after.GetName()), r.caches.CSVs.Get(after.GetNamespace(), after.GetName())
	if rollout != nil && csv != nil && (r.isReported(rollout) || len(r.blocked(rollout)) > 0) {
		r.add(csv)
	}
}

func (r *Reporter) add(csv *operatorsv1alpha1.ClusterServiceVersion) {
	if r.caches.Manages(csv.Namespace) {
		r.loop.Add(cache.MetaObjectToName(csv))
	}
}

func (*Reporter) isReported(rollout *managerv1alpha1.WebhookRollout) bool {
	return meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionBlocksInstallPlan) != nil
}

// blocked returns the InstallPlans that cannot continue without a webhook of an operator, by their time of creation.
func (r *Reporter) blocked(rollout *managerv1alpha1.WebhookRollout) []*operatorsv1alpha1.InstallPlan {
	var all []*operatorsv1alpha1.InstallPlan
	for _, d := range rollout.Status.Deployments {
		for _, w := range d.Webhooks {
			if w.State != managerv1alpha1.WebhookRegistered && w.State != managerv1alpha1.WebhookUnreachable {
				continue // API servers do not call it
			}
			for _, value := range r.obstacleValues(w) {
				all = append(all, r.caches.Plans.By(byObstacle, value)...)
			}
		}
	}
	all = slices.DeleteFunc(all, func(plan *operatorsv1alpha1.InstallPlan) bool {
		found, _ := obstacle.Of(plan)
		return !found.In(rollout.Namespace) || obstacle.Superseded(plan, r.caches.Plans.In(plan.Namespace))
	})
	slices.SortFunc(all, func(a, b *operatorsv1alpha1.InstallPlan) int {
		return strings.Compare(obstacle.Title(a), obstacle.Title(b))
	})
	return lists.Unique(all, obstacle.Title)
}

// obstacleValues are the values of byObstacle for a webhook.
func (r *Reporter) obstacleValues(w managerv1alpha1.WebhookStatus) []string {
	if w.Type != operatorsv1alpha1.ConversionWebhook {
		return []string{webhookValue(w.GenerateName)}
	}
	return lists.FilterMap(w.CRDs, func(name string) (string, bool) {
		crd := r.caches.CRDs.Get("", name)
		if crd == nil {
			return "", false
		}
		return kindOf(crd), true
	})
}

func (r *Reporter) reconcile(ctx context.Context, object cache.ObjectName) error {
	csv, current := r.caches.CSVs.Get(object.Namespace, object.Name), r.caches.Rollouts.Get(object.Namespace, object.Name)
	if csv == nil || current == nil {
		delete(r.announced, object)
		return nil
	}
	if !r.caches.Plans.Synced() {
		r.loop.AddAfter(object, time.Second)
		return nil
	}
	plans := r.blocked(current)
	if written, err := r.writeCondition(ctx, csv, current, plans); !written || err != nil {
		return err
	}
	r.announce(csv, current, plans)
	return nil
}

// mostNamed is how many InstallPlans a condition names.
const mostNamed = 10

// writeCondition reports whether the status of the API server names the InstallPlans. After a conflict, the change is an
// event of the cache.
func (r *Reporter) writeCondition(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout, plans []*operatorsv1alpha1.InstallPlan) (bool, error) {
	messages := lists.Map(plans[:min(len(plans), mostNamed)], func(plan *operatorsv1alpha1.InstallPlan) string { return message(plan, csv) })
	if more := len(plans) - mostNamed; more > 0 {
		messages = append(messages, fmt.Sprintf("and %d more InstallPlans: events of their Subscriptions report the cause", more))
	}
	updated := current.DeepCopy()
	condition := metav1.Condition{Type: managerv1alpha1.ConditionBlocksInstallPlan, Message: strings.Join(messages, "; ")}
	rollout.SetCondition(&updated.Status, condition, csv.Generation, time.Now())
	if equality.Semantic.DeepEqual(current.Status, updated.Status) {
		return true, nil
	}
	_, err := r.olm.WebhookRollouts(current.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
