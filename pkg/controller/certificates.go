package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// certificate is what a decision about a serving certificate means for the rest.
type certificate struct {
	status managerv1alpha1.CertificateStatus
	trust  render.Trust
	write  *corev1.Secret // as it is to be; nil when it is so
	nudge  []*corev1.Pod
	tell   []rollout.Step // what its issuer is to be told, and what goes for its sake
	again  time.Time      // when to look again at what cannot be watched
}

// certificate decides about the serving certificate of one Deployment. What the
// decision lacks is found out, and it is made again.
func (c *Controller) certificate(ctx context.Context, s *snapshot, deployment string, now time.Time) (certificate, error) {
	if s.choice().Provider == managerv1alpha1.ProviderNone {
		return c.delegated(ctx, s, deployment)
	}
	facts, err := c.certificateFacts(ctx, s, deployment)
	if err != nil {
		return certificate{}, err
	}
	if facts.Occupied, err = c.occupied(ctx, facts.Secret); err != nil {
		return certificate{}, err
	}
	issuance, err := c.issuance(ctx, s, deployment)
	if err != nil {
		return certificate{}, err
	}
	facts.Issuer, facts.Issued = issuance.provider, issuance.generation()
	if len(issuance.names) > 0 {
		facts.Names = issuance.names
	}
	var pods map[string]*corev1.Pod
	for {
		decision := c.judge(s, facts, now)
		switch decision.Need {
		case certs.NeedNothing:
			result := c.certificateOf(s, deployment, facts, decision, pods)
			issuance.addTo(&result, decision, s)
			return result, nil
		case certs.NeedIssued:
			facts.Issued, err = s.mint(facts.Blank.Name, *decision.Mint)
		case certs.NeedRotating:
			this := types.NamespacedName{Namespace: facts.Blank.Namespace, Name: facts.Blank.Name}
			facts.Rotating = new(c.rotationSlots.Others(this, c.caches.Secrets.By(informers.ByReplacing, ""), c.Certificates.Parallel, now))
		case certs.NeedLive:
			err = c.readLive(ctx, s, deployment, &facts)
		case certs.NeedEvidence:
			if err = c.readLive(ctx, s, deployment, &facts); err == nil {
				facts.Evidence, pods, err = c.evidence(ctx, s, deployment, decision.Serving)
			}
		}
		if err != nil {
			return certificate{}, err
		}
	}
}

// certificateFacts are what the caches show.
func (c *Controller) certificateFacts(ctx context.Context, s *snapshot, deployment string) (certs.Facts, error) {
	service := s.services[deployment]
	live := s.observed.Deployments[deployment]
	blank := csvspec.OwnedMeta(s.csv, names.Secret(service))
	_, restartedFor := s.template(deployment)
	facts := certs.Facts{
		Secret:       s.secrets[blank.Name],
		Blank:        blank,
		Registered:   registered(s, service),
		Names:        certs.DNSNames(service, s.csv.Namespace),
		Running:      live != nil,
		Order:        s.csv.Annotations[vocabulary.AnnotationRotate],
		Due:          certs.OrderedDue(s.csv.Status.CertsRotateAt, s.csv.ManagedFields, c.now()),
		RestartedFor: restartedFor,
		RestartCosts: workload.RestartCosts(live),
		Paused:       live != nil && live.Spec.Paused,
		ReadOnly:     s.observed.Refused[drift.KeyOf(&corev1.Secret{ObjectMeta: blank})] != "" || s.observed.HoldsSecret(&corev1.Secret{ObjectMeta: blank}, c.now()),
	}
	if facts.Untouched() {
		return facts, nil
	}
	var err error
	facts.Secret, err = c.secret(ctx, s, blank.Name)
	return facts, err
}

func registered(s *snapshot, service string) []certs.Registration {
	var all []certs.Registration
	for _, t := range s.observed.Trusting(s.csv.Namespace, service) {
		all = append(all, certs.Registration{Name: t.Name, Version: t.Version, CABundle: t.CABundle, Generation: t.Generation, Refused: s.observed.Refused[t.Name]})
	}
	return all
}

// judge leaves the Secret of another ClusterServiceVersion's pods alone.
func (c *Controller) judge(s *snapshot, facts certs.Facts, now time.Time) certs.Decision {
	if facts.Secret != nil {
		facts.Occupied = cmp.Or(s.mayClaim(facts.Secret), facts.Occupied)
	}
	policy, _ := c.policy(s)
	return certs.Decide(facts, policy, now)
}

// policy is the manager's, and what the operator's Subscription changes of it. The text
// says what is wrong with that.
func (c *Controller) policy(s *snapshot) (certs.Policy, string) {
	policy, problems := certs.PolicyFrom(c.Certificates, s.config.Annotations)
	for i, problem := range problems {
		problems[i] = fmt.Sprintf("Subscription %s: %s", s.config.Subscription, problem)
	}
	if warning := policy.Warning(); warning != "" && policy.Key != c.Certificates.Key {
		problems = append(problems, warning)
	}
	return policy, strings.Join(problems, "; ")
}

// certificateOf puts a decision into the words of the rest.
func (c *Controller) certificateOf(s *snapshot, deployment string, facts certs.Facts, d certs.Decision, pods map[string]*corev1.Pod) certificate {
	result := certificate{
		status: managerv1alpha1.CertificateStatus{
			Provider: facts.Issuer, Phase: d.Phase, Secret: facts.Blank.Name,
			TrustedCAs: int64(d.Trusted), Endpoints: d.Endpoints, LostRegistrations: d.Lost, NextLook: instant(d.Next),
		},
		trust: render.Trust{CABundle: d.Trust, Generation: d.Generation},
		write: owned(d.Write, facts.Secret, s),
		tell:  deletion(d.Remove),
		again: sooner(d.Again, d.Next), // to the moment: the status tells whole seconds
	}
	_, unwise := c.policy(s)
	result.status.Message = joined(d.Problem, d.Message, unwise)
	if serving := d.Serving; serving != nil {
		result.status.Provider = serving.Issuer
		result.status.Generation, result.status.CAFingerprint = serving.Number, serving.CAFingerprint
		result.status.NotBefore, result.status.NotAfter = instant(serving.NotBefore), instant(serving.NotAfter)
		result.status.RotatesAt, result.status.UpdatedAt = instant(serving.RenewAt), instant(serving.Updated)
	}
	result.trust.CAHash, result.trust.RestartedFor = startedFor(s, deployment, d)
	s.duePending = s.duePending || d.DuePending
	for _, name := range d.Nudge {
		result.nudge = append(result.nudge, pods[name])
	}
	return result
}

// joined is one text of some that may be empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// startedFor is what the pod template says of the certificate: what it said already,
// unless pods have to be replaced for another. A change replaces them.
func startedFor(s *snapshot, deployment string, d certs.Decision) (caHash, generation string) {
	caHash, generation = s.template(deployment)
	if d.Serving == nil {
		return caHash, generation
	}
	if caHash == "" {
		caHash = d.Serving.CAHash
	}
	if d.Restart {
		caHash, generation = d.Serving.CAHash, strconv.FormatInt(d.Serving.Number, 10)
	}
	return caHash, generation
}

// template is what a Deployment's pod template says of the certificate.
func (s *snapshot) template(deployment string) (caHash, restartedFor string) {
	live := s.observed.Deployments[deployment]
	if live == nil {
		return "", ""
	}
	annotations := live.Spec.Template.Annotations
	return annotations[vocabulary.AnnotationCAHash], annotations[vocabulary.AnnotationRestartedFor]
}

// owned makes the ClusterServiceVersion own the Secret that is to be written, or, when
// none is, the one that there is: an owner that is gone would take it with it. On its way out
// it owns nothing anew: what was orphaned stays so.
func owned(write, there *corev1.Secret, s *snapshot) *corev1.Secret {
	keepsOwners := s.leaving && there != nil
	if write != nil {
		if !keepsOwners {
			csvspec.Own(write, s.csv)
		}
		issuers.Disown(write)
		return write
	}
	if there == nil || keepsOwners || s.mayClaim(there) != "" || !csvspec.Managed(there) {
		return nil
	}
	if adopted := there.DeepCopy(); csvspec.Own(adopted, s.csv) {
		return adopted
	}
	return nil
}

// mint issues a generation for a Secret, once in a pass. Where a Service turns out to be
// somebody else's, another one, with another Secret, is called by another name.
func (s *snapshot) mint(secret string, request certs.Request) (*certs.Generation, error) {
	minted, ok := s.minted[secret]
	if !ok {
		var err error
		if minted, err = certs.Mint(request); err != nil {
			return nil, err
		}
		s.minted[secret] = minted
	}
	return &minted, nil
}

// secret is the live one where the caches show none: they show those that bear the
// manager's label, and the trust in a new certificate must not be published when
// somebody else's Secret is in its way.
func (c *Controller) secret(ctx context.Context, s *snapshot, name string) (*corev1.Secret, error) {
	if known, ok := s.secrets[name]; ok {
		return known, nil
	}
	return c.liveSecret(ctx, s, name)
}

func (c *Controller) liveSecret(ctx context.Context, s *snapshot, name string) (*corev1.Secret, error) {
	live, err := c.Kube.CoreV1().Secrets(s.csv.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err == nil {
		s.secrets[name] = live
	}
	return live, err
}
