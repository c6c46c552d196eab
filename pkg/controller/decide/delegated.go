package decide

import (
	"fmt"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// delegated returns the serving certificate of a Deployment that the administrator provides. The
// manager only reads it.
func (d *decision) delegated(deployment string) (certificate, error) {
	service := d.services[deployment]
	secret, err := d.secret(names.Secret(service))
	if err != nil {
		return certificate{}, err
	}
	steps, _, err := d.removeOtherIssuers(service, managerv1alpha1.ProviderNone)
	if err != nil {
		return certificate{}, err
	}
	result := certificate{
		status: managerv1alpha1.CertificateStatus{Provider: managerv1alpha1.ProviderNone, Phase: managerv1alpha1.CertificateStable, Secret: names.Secret(service)},
		trust:  render.Trust{Delegated: true},
		steps:  steps,
	}
	result.trust.CAHash, result.trust.RestartedFor = d.startedFor(deployment, certs.Decision{})
	seen := certs.Inspect(secret)
	if seen == nil {
		result.status.Phase = managerv1alpha1.CertificateBootstrap
		result.status.Message = fmt.Sprintf("Secret %s/%s holds no certificate: its issuer has to issue into this Secret, for %s.%[1]s.svc", d.CSV.Namespace, names.Secret(service), service)
		return result, nil
	}
	if len(seen.CA) == 0 {
		result.status.Message = certs.MissingCA(secret)
	}
	names := []string{issuers.ServerName(service, d.CSV.Namespace)}
	result.status.Rejected = certs.ValidateSecret(secret, names, d.now).Status("the administrator's tools (provider none)", drift.KeyOf(secret), "Calls to pods that serve it fail", names)
	if result.status.Rejected != nil {
		result.status.Message = joined(result.status.Rejected.Message, result.status.Message)
	}
	result.trust.CABundle = seen.CA
	result.status.CAFingerprint = seen.CAFingerprint
	result.status.NotBefore, result.status.NotAfter = instant(seen.NotBefore), instant(seen.NotAfter)
	return result, nil
}
