package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// decide asks the pure packages, one after the other, what to do now.
func (c *Controller) decide(ctx context.Context, s *snapshot, now time.Time) (rollout.Plan, error) {
	in := rollout.Input{
		CSV:      s.csv,
		Policy:   c.Rollout,
		Failure:  s.failure,
		Verdict:  s.verdict,
		Observed: s.observed,
		Previous: s.status,
	}
	if in.Failure != nil || !in.Verdict.Passes() {
		return rollout.Next(in, now), nil
	}
	c.nameServices(s)
	in.Certificates, in.Secrets = map[string]managerv1alpha1.CertificateStatus{}, map[string]rollout.SecretWrite{}
	rendering := install.Input{
		CSV: s.csv, Scope: s.scope, Config: s.config, Services: s.services,
		Configurations: s.observed.Configurations(s.csv),
		Trust:          map[string]install.Trust{},
	}
	for _, spec := range s.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if len(install.DescriptionsOf(s.csv, spec.Name)) == 0 {
			continue
		}
		certificate, err := c.certificate(ctx, s, spec.Name, now)
		if err != nil {
			return rollout.Plan{}, err
		}
		in.Certificates[spec.Name] = certificate.status
		rendering.Trust[spec.Name] = certificate.trust
		if certificate.write != nil {
			in.Secrets[spec.Name] = *certificate.write
		}
	}
	in.Desired = install.Render(rendering)
	return rollout.Next(in, now), nil
}

// certificate is what a decision about a serving certificate means for the rest.
type certificate struct {
	status managerv1alpha1.CertificateStatus
	trust  install.Trust
	write  *rollout.SecretWrite
}

func (c *Controller) certificate(ctx context.Context, s *snapshot, deployment string, now time.Time) (certificate, error) {
	service := s.services[deployment]
	secretName := names.Secret(service)
	secret, err := c.secret(ctx, s, secretName)
	if err != nil {
		return certificate{}, err
	}
	decision := c.judge(s, service, secret, now)

	result := certificate{
		status: managerv1alpha1.CertificateStatus{
			Provider: managerv1alpha1.ProviderManager, Phase: decision.Phase, Secret: secretName,
			NextLook: instant(decision.Next), Message: decision.Problem,
		},
		trust: install.Trust{CABundle: decision.Trust},
	}
	if serving := decision.Serving; serving != nil {
		result.status.CAFingerprint, result.status.NotAfter = serving.CAFingerprint, instant(serving.NotAfter)
		result.trust.CAHash, result.trust.Generation = serving.CAHash, serving.Number
	} else if live := s.observed.Deployments[deployment]; live != nil {
		// Pods roll for a certificate that is there, not for one that is lost or to come.
		result.trust.CAHash = live.Spec.Template.Annotations[vocabulary.AnnotationCAHash]
	}
	if decision.Mint == nil {
		if decision.Serving != nil {
			result.write = secretWrite(takenOver(secret, s.csv), false)
		}
		return result, nil
	}
	generation, minted := s.minted[deployment]
	if !minted {
		if generation, err = certs.Mint(*decision.Mint); err != nil {
			return certificate{}, err
		}
		s.minted[deployment] = generation
	}
	if secret == nil {
		secret = &corev1.Secret{ObjectMeta: install.OwnedMeta(s.csv, secretName)}
	}
	filled := certs.Fill(secret, generation, decision)
	install.Own(filled, s.csv)
	result.write = secretWrite(filled, decision.Phase == managerv1alpha1.CertificateRecovering)
	result.trust.CABundle = generation.Trust(decision)
	result.trust.Generation = generation.Number
	if s.observed.Deployments[deployment] == nil {
		result.trust.CAHash = filled.Annotations[vocabulary.AnnotationCAHash]
	}
	return result, nil
}

// judge leaves the Secret of another ClusterServiceVersion's pods alone.
func (c *Controller) judge(s *snapshot, service string, secret *corev1.Secret, now time.Time) certs.Decision {
	if secret != nil {
		if refusal := s.mayClaim(secret); refusal != "" {
			return certs.Decision{Phase: managerv1alpha1.CertificateBootstrap, Problem: refusal}
		}
	}
	return certs.Decide(certs.Facts{
		Secret:     secret,
		Registered: s.observed.CABundles(service),
		Names:      certs.DNSNames(service, s.csv.Namespace),
	}, c.Certificates, now)
}

// secret is the live one where the caches show none: they show those that bear the
// manager's label, and the trust in a new certificate must not be published when
// somebody else's Secret is in its way.
func (c *Controller) secret(ctx context.Context, s *snapshot, name string) (*corev1.Secret, error) {
	if known, ok := s.secrets[name]; ok {
		return known, nil
	}
	live, err := c.Kube.CoreV1().Secrets(s.csv.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err == nil {
		s.secrets[name] = live
	}
	return live, err
}

// takenOver is a copy of a usable Secret that an OLM v0 wrote, or a ClusterServiceVersion
// of the same name that is gone, as this one needs it; nil when it is so already. An
// owner that is gone would take the Secret with it.
func takenOver(secret *corev1.Secret, csv *operatorsv1alpha1.ClusterServiceVersion) *corev1.Secret {
	completed := certs.Completed(secret)
	if completed != nil {
		install.Own(completed, csv)
		return completed
	}
	if owned := secret.DeepCopy(); install.Own(owned, csv) {
		return owned
	}
	return nil
}

func secretWrite(secret *corev1.Secret, afterTrust bool) *rollout.SecretWrite {
	if secret == nil {
		return nil
	}
	return &rollout.SecretWrite{Object: secret, AfterTrust: afterTrust}
}
