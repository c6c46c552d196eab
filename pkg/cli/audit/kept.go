package audit

import (
	"cmp"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// kept is a webhook whose openings a status keeps for the version that will continue their record.
type kept struct {
	rollout managerv1alpha1.WebhookRollout
	status  managerv1alpha1.WebhookStatus
}

// keptIn returns the webhooks with kept openings that no newer version has recorded otherwise, with these openings only. Another
// operator of the Namespace can have a webhook of the same name.
func keptIn(rollouts []managerv1alpha1.WebhookRollout) []kept {
	var all []kept
	for _, r := range rollouts {
		versions := lists.Filter(rollouts, func(other managerv1alpha1.WebhookRollout) bool {
			return other.Namespace == r.Namespace && (other.Name == r.Name || other.Status.Upgrade != nil && slices.Contains(other.Status.Upgrade.From, r.Name))
		})
		for _, k := range r.Status.KeptOpenings {
			status := managerv1alpha1.WebhookStatus{Type: k.Type, GenerateName: k.GenerateName, FailOpen: k.FailOpen.DeepCopy()}
			for _, recorded := range statusesOf(versions, k) {
				status.Configuration = cmp.Or(status.Configuration, recorded.Configuration)
				status.FailOpen.Openings = without(status.FailOpen.Openings, recorded.FailOpen)
			}
			if len(status.FailOpen.Openings) > 0 {
				all = append(all, kept{r, status})
			}
		}
	}
	return all
}

// statusesOf returns what versions report about a webhook.
func statusesOf(versions []managerv1alpha1.WebhookRollout, k managerv1alpha1.KeptOpenings) []managerv1alpha1.WebhookStatus {
	var all []managerv1alpha1.WebhookStatus
	for _, r := range versions {
		for _, d := range r.Status.Deployments {
			all = append(all, lists.Filter(d.Webhooks, func(w managerv1alpha1.WebhookStatus) bool {
				return w.Type == k.Type && w.GenerateName == k.GenerateName
			})...)
		}
	}
	return all
}

func without(openings []managerv1alpha1.Opening, recorded *managerv1alpha1.FailOpen) []managerv1alpha1.Opening {
	if recorded == nil {
		return openings
	}
	return lists.Filter(openings, func(o managerv1alpha1.Opening) bool {
		return !slices.ContainsFunc(recorded.Openings, func(r managerv1alpha1.Opening) bool { return r.From.Equal(&o.From) })
	})
}
