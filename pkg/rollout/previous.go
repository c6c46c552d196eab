package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// previousStatus returns what the status before this decision reports of a webhook; nil where it reports
// nothing.
func (f *facts) previousStatus(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.WebhookStatus {
	if f.previous == nil {
		f.previous = report.ByIdentity(f.Previous)
	}
	return f.previous[csvspec.IdentityOf(d)]
}

// sinceOf returns when a webhook was first seen in a state.
func (f *facts) sinceOf(d operatorsv1alpha1.WebhookDescription, state managerv1alpha1.WebhookState) time.Time {
	if before := f.previousStatus(d); before != nil && before.State == state && before.Since != nil {
		return before.Since.Time
	}
	return f.now
}

// wasRegistered tells whether the webhook was in service when it was last looked at, whoever
// had it in hand.
func (f *facts) wasRegistered(w render.Webhook) bool {
	before := f.previousStatus(w.Description)
	return before != nil && (isRegistered(*before) || before.Configuration != "")
}

// servedBefore tells whether what is being rolled out served the webhook before: then a
// registration that somebody else took away comes back as soon as its endpoints serve. Where an
// older version had it in service in another way, or on another Deployment, pods of that
// version may be the ones that answer.
func (f *facts) servedBefore(w render.Webhook) bool {
	for _, older := range f.Upgrade.From {
		if change, declared := render.Changes(older, f.CSV)[csvspec.IdentityOf(w.Description)]; declared && change != render.Same {
			return false
		}
	}
	return f.wasRegistered(w)
}

// registeredSince is when a registration came to be as it is: one that was switched in place
// is older than that.
func (f *facts) registeredSince(w render.Webhook, created time.Time) time.Time {
	if len(f.Upgrade.From) == 0 {
		return created
	}
	before := f.previousStatus(w.Description)
	if before == nil || before.Since == nil || !isRegistered(*before) {
		return f.now
	}
	return workload.Later(created, endOfSecond(before.Since.Time))
}

// createdAt is when a registration was created, or, where only the second is known in which it
// was, the end of that.
func (f *facts) createdAt(live drift.Object) time.Time {
	if born, known := f.Observed.CreationTimes[live.GetUID()]; known {
		return born
	}
	return endOfSecond(live.GetCreationTimestamp().Time)
}

// RegistrationUIDs are the live registrations.
func (o Observed) RegistrationUIDs() []types.UID {
	var all []types.UID
	for _, r := range o.registrations() {
		all = append(all, r.Object.GetUID())
	}
	return all
}

// endOfSecond is the end of the second that an object's instant stands for.
func endOfSecond(t time.Time) time.Time { return t.Add(time.Second) }
