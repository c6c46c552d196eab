package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// remover removes what is not declared any more, and what must not be served.
type remover struct {
	*facts
	*outcome
	plan *planBuilder
}

func (x *remover) unconvertStale() {
	ended := x.conversionsToEnd()
	for _, step := range EndConversionSteps(ended.CRDs) {
		if !x.plan.writes(step.Key()) { // it ends after that write
			x.plan.add(step)
		}
	}
	x.plan.Count = append(x.plan.Count, ended.Count...)
	x.inUse = ended.InUse
}

// undelegateStale removes undeclared bindings for servers of APIServices, which have no owner.
func (x *remover) undelegateStale() {
	wanted := map[string]bool{}
	for _, d := range slices.Concat(x.Desired.Deployments, x.Maintained) {
		if d.Adopted {
			return // olm-operator creates them for every webhook
		}
		if d.AuthDelegator != nil {
			wanted[drift.KeyOf(d.AuthDelegator)], wanted[drift.KeyOf(d.AuthReader)] = true, true
		}
	}
	for _, live := range x.Observed.delegations() {
		if !wanted[drift.KeyOf(live)] {
			x.plan.delete(live)
		}
	}
}

// removeStale is last: until then unlisted Deployments may serve adopted webhooks, or conversions in use.
func (x *remover) removeStale() {
	complete := len(x.plan.Steps) == 0
	for _, live := range lists.ByKey(x.Observed.Deployments) {
		switch {
		case csvspec.HasDeployment(x.CSV, live.Name) || live.DeletionTimestamp != nil || !csvspec.OwnedBy(live, x.CSV):
		case x.isCalled(live.Name):
			x.recordCalled(live)
		case complete && !x.waitsForAny() && !x.awaitUncalled(live):
			x.plan.delete(live)
		}
	}
}

// recordCalled replaces the record of a Deployment that another client has registered again.
func (x *remover) recordCalled(live *appsv1.Deployment) {
	if _, recorded := x.uncalledSince(live); recorded {
		x.plan.ensure(withUseRecord(live, "called again"), live)
	}
}

// awaitUncalled records when no registration names the Deployment any more, and reports whether it may be called.
func (x *remover) awaitUncalled(live *appsv1.Deployment) bool {
	if x.Policy.Gate == GateAvailable || !x.hasService(live.Name) {
		return false
	}
	since, recorded := x.uncalledSince(live)
	if !recorded {
		return x.plan.ensure(withUseRecord(live, x.uncalledPrefix()+x.now.UTC().Format(time.RFC3339Nano)), live)
	}
	return x.mayBeCalled(since, x.Policy.Settle)
}

func withUseRecord(live *appsv1.Deployment, record string) *appsv1.Deployment {
	marked := live.DeepCopy()
	marked.Annotations = labels.Merge(marked.Annotations, map[string]string{wellknown.AnnotationUnused: record})
	return marked
}

// uncalledSince reads the record. recorded is false without a valid record of this generation.
func (x *remover) uncalledSince(live *appsv1.Deployment) (since time.Time, recorded bool) {
	text, ok := strings.CutPrefix(live.Annotations[wellknown.AnnotationUnused], x.uncalledPrefix())
	since, err := time.Parse(time.RFC3339Nano, text)
	return since, ok && err == nil && !since.After(x.now)
}

// The record is for one generation of the ClusterServiceVersion: a later one may call the Deployment again.
func (x *remover) uncalledPrefix() string {
	return fmt.Sprintf("generation %d since ", x.CSV.Generation)
}

func (x *remover) waitsForAny() bool {
	return slices.ContainsFunc(x.deployments, func(d deploymentView) bool {
		return d.gap(x.facts).what != ""
	})
}

// withdraw removes webhooks first, which would refuse requests. A Deployment with a needed conversion stays.
func (x *remover) withdraw() {
	registered := false
	for _, live := range x.Observed.registrations() {
		if csvspec.HasOwnerLabels(live.Object, x.CSV) {
			registered = registered || !render.IsCanary(live.Object)
			x.plan.unregister(live.Object)
		}
	}
	ended := x.endAll(slices.Collect(maps.Values(x.Observed.CRDs)), func(s *corev1.Service) bool { return csvspec.HasOwnerLabels(s, x.CSV) })
	for _, step := range EndConversionSteps(ended.CRDs) {
		x.plan.add(step)
	}
	x.plan.Count, x.inUse = ended.Count, ended.InUse
	called := lists.Filter(lists.ByKey(x.Observed.Deployments), func(d *appsv1.Deployment) bool { return csvspec.OwnedBy(d, x.CSV) })
	if registered || len(ended.CRDs)+len(ended.Count) > 0 || ended.InUse != "" || len(called) > 0 && !x.deletionsSettled() {
		return
	}
	for _, d := range called {
		x.plan.delete(d)
	}
	for _, budget := range lists.ByKey(x.Observed.Budgets) {
		if csvspec.OwnedBy(budget, x.CSV) {
			x.plan.delete(budget)
		}
	}
	for _, live := range x.Observed.delegations() {
		if csvspec.HasOwnerLabels(live, x.CSV) {
			x.plan.delete(live)
		}
	}
}

// recordPrecision is added to times of the status, which has whole seconds.
const recordPrecision = time.Second

// deletionsSettled reports whether no API server may call what the previous reconciliation has unregistered.
func (x *remover) deletionsSettled() bool {
	for _, d := range x.Previous.Deployments {
		for _, before := range d.Registrations() {
			ended := time.Time{}
			switch {
			case isRegistered(before):
				ended = x.now
			case before.State == managerv1alpha1.WebhookBlocked && before.LastTransitionTime != nil:
				ended = before.LastTransitionTime.Time
			}
			if x.mayBeCalled(ended, x.Policy.Settle+recordPrecision) {
				return false
			}
		}
	}
	return true
}
