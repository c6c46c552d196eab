package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// delegated is the serving certificate of a Deployment while it is the administrator's:
// it is looked at, and nothing else.
func (c *Controller) delegated(ctx context.Context, s *snapshot, deployment string) (certificate, error) {
	service := s.services[deployment]
	secret, err := c.secret(ctx, s, names.Secret(service))
	if err != nil {
		return certificate{}, err
	}
	steps, _ := c.relieve(s, service, managerv1alpha1.ProviderNone)
	result := certificate{
		status: managerv1alpha1.CertificateStatus{Provider: managerv1alpha1.ProviderNone, Phase: managerv1alpha1.CertificateStable, Secret: names.Secret(service)},
		trust:  render.Trust{Delegated: true},
		tell:   steps,
	}
	result.trust.CAHash, result.trust.RestartedFor = startedFor(s, deployment, certs.Decision{})
	seen := certs.Look(secret)
	if seen == nil {
		result.status.Phase = managerv1alpha1.CertificateBootstrap
		result.status.Message = fmt.Sprintf("Secret %s/%s holds no certificate: whoever issues it has to issue into this Secret, for %s.%[1]s.svc", s.csv.Namespace, names.Secret(service), service)
		return result, nil
	}
	if len(seen.CA) == 0 {
		result.status.Message = certs.WithoutCA(secret)
	}
	names := []string{issuers.CalledName(service, s.csv.Namespace)}
	result.status.Rejected = certs.JudgeSecret(secret, names, c.now()).Status("the administrator's tools (provider none)", drift.KeyOf(secret), "Calls to pods that serve it fail", names)
	if result.status.Rejected != nil {
		result.status.Message = joined(result.status.Rejected.Message, result.status.Message)
	}
	result.trust.CABundle = seen.CA
	result.status.CAFingerprint = seen.CAFingerprint
	result.status.NotBefore, result.status.NotAfter = instant(seen.NotBefore), instant(seen.NotAfter)
	return result, nil
}

// occupied says which Certificate of cert-manager issues into a Secret that is to be the
// manager's again: two writers would undo each other's work.
func (c *Controller) occupied(ctx context.Context, secret *corev1.Secret) (string, error) {
	if secret == nil || issuers.IssuedBy(secret) != managerv1alpha1.ProviderCertManager || !c.hasCertManager() {
		return "", nil
	}
	name := issuers.CertificateOf(secret)
	certificate, err := c.Dynamic.Resource(issuers.Certificates).Namespace(secret.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if into, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName"); into != secret.Name {
		return "", nil
	}
	return fmt.Sprintf("Certificate %s/%s issues into Secret %s, which the chosen provider needs; nothing changes until you delete it: kubectl -n %[1]s delete certificates.cert-manager.io %[2]s",
		secret.Namespace, name, secret.Name), nil
}
