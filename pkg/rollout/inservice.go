package rollout

import (
	"slices"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// KeepsTrustOnly reports whether only certificates and trust are maintained: there is no scope, the version is
// invalid, or its deletion waits for conversions.
func (in Input) KeepsTrustOnly() bool {
	held := in.Failure != nil || in.Verdict.Invalid() != ""
	yields := in.Failure != nil && scope.Yields(in.Failure.Reason) || in.Verdict.Conflict != ""
	return in.DeletionBlocked || held && !yields && !in.Upgrade.Waits() && in.InService()
}

// InService reports whether API servers call webhooks, or did until another client deleted these. Before an
// upgrade starts, the webhooks belong to the previous version.
func (in Input) InService() bool {
	if len(in.Upgrade.From) > 0 && !in.Upgrade.Started {
		return false
	}
	labelled := func(live registration.Registration) bool { return csvspec.HasOwnerLabels(live.Object, in.CSV) }
	return slices.ContainsFunc(in.Observed.registrations(), labelled) ||
		anyWebhook(in.Previous, func(w managerv1alpha1.WebhookStatus) bool { return isRegistered(w) || w.Configuration != "" })
}

// RepairsInService reports whether webhooks are maintained although a requirement is not met.
func (in Input) RepairsInService() bool {
	return in.Failure == nil && in.Verdict.Invalid() == "" && in.Verdict.Conflict == "" && in.Verdict.Unmet() != "" &&
		!in.Upgrade.Waits() && in.InService()
}
