package report

import (
	"cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// SetCertificates sets when pods got the newest certificate (or its NotBefore), and the first renewal, if reported.
func SetCertificates(csv *operatorsv1alpha1.ClusterServiceVersionStatus, status managerv1alpha1.WebhookRolloutStatus) {
	for i, d := range certificatesIn(status) {
		updated := cmp.Or(d.LastUpdateTime, d.NotBefore)
		if i == 0 {
			csv.CertsLastUpdated, csv.CertsRotateAt = updated, d.RenewalTime
		}
		if csv.CertsLastUpdated.Before(updated) {
			csv.CertsLastUpdated = updated
		}
		if d.RenewalTime != nil && (csv.CertsRotateAt == nil || d.RenewalTime.Before(csv.CertsRotateAt)) {
			csv.CertsRotateAt = d.RenewalTime
		}
	}
}

func certificatesIn(status managerv1alpha1.WebhookRolloutStatus) []managerv1alpha1.CertificateStatus {
	var all []managerv1alpha1.CertificateStatus
	for _, d := range status.Deployments {
		if d.Certificate != nil && d.Certificate.NotBefore != nil {
			all = append(all, *d.Certificate)
		}
	}
	return all
}
