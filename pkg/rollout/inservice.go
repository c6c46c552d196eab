package rollout

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// KeepsTrustOnly tells whether nothing but certificates is to be looked after: of webhooks in
// service whose ClusterServiceVersion has no scope or mistakes, and of conversions that
// hold one up on its way out. What they call stays as it is, and certificates end.
func (in Input) KeepsTrustOnly() bool {
	held := in.Failure != nil || in.Verdict.Mistakes() != ""
	yields := in.Failure != nil && scope.Yields(in.Failure.Reason) || in.Verdict.Conflict != ""
	return in.DeletionBlocked || held && !yields && !in.Upgrade.Waits() && in.InService()
}

// InService tells whether the ClusterServiceVersion has webhooks that API servers call, or
// would call if somebody had not taken them away. Before it has taken over from an older
// version they are that one's.
func (in Input) InService() bool {
	if len(in.Upgrade.From) > 0 && !in.Upgrade.Started {
		return false
	}
	for _, live := range in.Observed.registrations() {
		if csvspec.HasOwnerLabels(live.Object, in.CSV) {
			return true
		}
	}
	for _, d := range in.Previous.Deployments {
		for _, w := range d.Registrations() {
			if isRegistered(w) || w.Configuration != "" {
				return true
			}
		}
	}
	return false
}

// RepairsInService tells whether to look after webhooks in service although a requirement is not
// met: their certificates end, and whoever deletes one of them, all the same.
func (in Input) RepairsInService() bool {
	return in.Failure == nil && in.Verdict.Mistakes() == "" && in.Verdict.Conflict == "" && in.Verdict.Unmet() != "" &&
		!in.Upgrade.Waits() && in.InService()
}
