package failopen

import (
	"cmp"
	"slices"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Records are records of openings by webhook.
type Records map[csvspec.Identity]*managerv1alpha1.FailOpen

// RecordsOf returns the records of a status. Kept records are from a newer version, and later.
func RecordsOf(status managerv1alpha1.WebhookRolloutStatus) Records {
	all := Records{}
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			if of := (csvspec.Identity{Type: w.Type, GenerateName: w.GenerateName}); w.FailOpen != nil && all[of] == nil {
				all[of] = w.FailOpen
			}
		}
	}
	kept := Records{}
	for _, k := range status.KeptOpenings {
		kept[csvspec.Identity{Type: k.Type, GenerateName: k.GenerateName}] = &k.FailOpen
	}
	return all.continuedBy(kept)
}

func (r Records) continuedBy(later Records) Records {
	all := Records{}
	for of, record := range r {
		all[of] = Continued(record, later[of])
	}
	for of, record := range later {
		all[of] = Continued(r[of], record)
	}
	return all
}

// Kept returns the records with openings, for a status of a version that does not serve the webhooks.
func (r Records) Kept() []managerv1alpha1.KeptOpenings {
	var all []managerv1alpha1.KeptOpenings
	for of, record := range r {
		if len(record.Openings) > 0 {
			all = append(all, managerv1alpha1.KeptOpenings{Type: of.Type, GenerateName: of.GenerateName, FailOpen: *record})
		}
	}
	slices.SortFunc(all, func(a, b managerv1alpha1.KeptOpenings) int {
		return cmp.Or(cmp.Compare(a.GenerateName, b.GenerateName), cmp.Compare(a.Type, b.Type))
	})
	return all
}

// HasOpenings reports whether a status records openings.
func HasOpenings(status managerv1alpha1.WebhookRolloutStatus) bool {
	return len(RecordsOf(status).Kept()) > 0
}

// HasLastingOpening reports whether a status records an opening that lasts.
func HasLastingOpening(status managerv1alpha1.WebhookRolloutStatus) bool {
	for _, record := range RecordsOf(status) {
		if record.IsOpen() {
			return true
		}
	}
	return false
}

// IsLost reports whether a status records that the backend of a webhook is lost that may open.
func IsLost(status managerv1alpha1.WebhookRolloutStatus) bool {
	for _, record := range RecordsOf(status) {
		if record.UnreachableSince != nil {
			return true
		}
	}
	return false
}

// WithOpeningsOf returns the status of a version with the openings that a newer version has recorded, which is deleted before it
// has succeeded.
func WithOpeningsOf(newer, status managerv1alpha1.WebhookRolloutStatus) managerv1alpha1.WebhookRolloutStatus {
	with := *status.DeepCopy()
	with.KeptOpenings = RecordsOf(status).continuedBy(RecordsOf(newer)).Kept()
	return with
}
