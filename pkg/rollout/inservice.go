package rollout

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// KeepsTrustOnly reports whether only certificates and trust are maintained: the webhooks are in
// service, and the ClusterServiceVersion has no scope, is invalid, or waits for conversions to be
// deleted.
func (in Input) KeepsTrustOnly() bool {
	held := in.Failure != nil || in.Verdict.Invalid() != ""
	yields := in.Failure != nil && scope.Yields(in.Failure.Reason) || in.Verdict.Conflict != ""
	return in.DeletionBlocked || held && !yields && !in.Upgrade.Waits() && in.InService()
}

// InService reports whether API servers call webhooks of the ClusterServiceVersion, or did until
// another client deleted them. Before an upgrade starts, the webhooks belong to the previous
// version.
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

// RepairsInService reports whether webhooks in service are maintained although a requirement is not
// met.
func (in Input) RepairsInService() bool {
	return in.Failure == nil && in.Verdict.Invalid() == "" && in.Verdict.Conflict == "" && in.Verdict.Unmet() != "" &&
		!in.Upgrade.Waits() && in.InService()
}
