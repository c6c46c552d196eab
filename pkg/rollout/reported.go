package rollout

import (
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// before returns what the status before this decision reports of a webhook; nil where it reports
// nothing.
func (p *planner) before(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.WebhookStatus {
	if p.previous == nil {
		p.previous = report.ByIdentity(p.Previous)
	}
	return p.previous[csvspec.IdentityOf(d)]
}

// sinceOf returns when a webhook was first seen in a state.
func (p *planner) sinceOf(d operatorsv1alpha1.WebhookDescription, state managerv1alpha1.WebhookState) time.Time {
	if before := p.before(d); before != nil && before.State == state && before.Since != nil {
		return before.Since.Time
	}
	return p.now
}
