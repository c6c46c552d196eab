package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// previousStatus returns what the previous status reports of a webhook; nil for nothing.
func (f *facts) previousStatus(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.WebhookStatus {
	if f.previous == nil {
		f.previous = report.ByIdentity(f.Previous)
	}
	return f.previous[csvspec.IdentityOf(d)]
}

func (f *facts) sinceOf(d operatorsv1alpha1.WebhookDescription, state managerv1alpha1.WebhookState) time.Time {
	if before := f.previousStatus(d); before != nil && before.State == state && before.LastTransitionTime != nil {
		return before.LastTransitionTime.Time
	}
	return f.now
}

// wasRegistered reports whether the webhook was registered in the previous status, by any version.
func (f *facts) wasRegistered(w render.Webhook) bool {
	before := f.previousStatus(w.Description)
	return before != nil && (isRegistered(*before) || before.Configuration != "")
}

// servedBefore requires that the current Deployment served it: otherwise pods of the previous version may answer.
func (f *facts) servedBefore(w render.Webhook) bool {
	for _, older := range f.Upgrade.From {
		if change, declared := f.changesFrom(older)[csvspec.IdentityOf(w.Description)]; declared && change != render.Same {
			return false
		}
	}
	return f.wasRegistered(w)
}

// registeredSince is later than the creation of a registration that was switched in place.
func (f *facts) registeredSince(w render.Webhook, created time.Time) time.Time {
	if len(f.Upgrade.From) == 0 {
		return created
	}
	before := f.previousStatus(w.Description)
	if before == nil || before.LastTransitionTime == nil || !isRegistered(*before) {
		return f.now
	}
	return workload.Later(created, endOfSecond(before.LastTransitionTime.Time))
}

// metadata.creationTimestamp has whole seconds: the end of that second counts if the exact time is unknown.
func (f *facts) createdAt(live drift.Object) time.Time {
	if born, known := f.Observed.CreationTimes[live.GetUID()]; known {
		return born
	}
	return endOfSecond(live.GetCreationTimestamp().Time)
}

// RegistrationUIDs returns the uids of the live registrations.
func (o Observed) RegistrationUIDs() []types.UID {
	return lists.Map(o.registrations(), func(r registration.Registration) types.UID { return r.Object.GetUID() })
}

func endOfSecond(t time.Time) time.Time { return t.Add(time.Second) }
