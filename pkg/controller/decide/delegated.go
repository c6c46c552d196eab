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

// delegated reads a serving certificate that the administrator provides.
func (c *certifier) delegated() (certificate, error) {
	secret, err := c.secret(names.Secret(c.service))
	if err != nil {
		return certificate{}, err
	}
	steps, _, err := c.removeOtherIssuers(managerv1alpha1.ProviderNone)
	if err != nil {
		return certificate{}, err
	}
	result := certificate{
		status: managerv1alpha1.CertificateStatus{Provider: managerv1alpha1.ProviderNone, Phase: managerv1alpha1.CertificateStable, Secret: names.Secret(c.service)},
		trust:  render.Trust{Delegated: true},
		steps:  steps,
	}
	result.trust.CAHash, result.trust.RestartedFor = c.startedFor(certs.Decision{})
	seen := certs.Inspect(secret)
	if seen == nil {
		result.status.Phase = managerv1alpha1.CertificateBootstrap
		result.status.Message = fmt.Sprintf("Secret %s/%s holds no certificate: its issuer has to issue into this Secret, for %s.%[1]s.svc", c.CSV.Namespace, names.Secret(c.service), c.service)
		return result, nil
	}
	if len(seen.CA) == 0 {
		result.status.Message = certs.MissingCA(secret)
	}
	names := []string{issuers.ServerName(c.service, c.CSV.Namespace)}
	result.status.Rejected = certs.ValidateSecret(secret, names, c.now).Status("the administrator's tools (provider none)", drift.KeyOf(secret), "Calls to pods that serve it fail", names)
	if result.status.Rejected != nil {
		result.status.Message = joined(result.status.Rejected.Message, result.status.Message)
	}
	result.trust.CABundle = seen.CA
	result.status.CAFingerprint = seen.CAFingerprint
	result.status.NotBefore, result.status.NotAfter = instant(seen.NotBefore), instant(seen.NotAfter)
	return result, nil
}
