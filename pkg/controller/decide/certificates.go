package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// certificate is what the decision about a serving certificate means for the plan.
type certificate struct {
	status  managerv1alpha1.CertificateStatus
	trust   render.Trust
	write   *corev1.Secret // as it is desired; nil when it is as desired
	resync  []*corev1.Pod
	steps   []rollout.Step // what the issuer reads, and what is deleted for it
	requeue rollout.Requeue
}

// certificate decides about the serving certificate of one Deployment.
func (d *decision) certificate(deployment string) (certificate, error) {
	if d.choice().Provider == managerv1alpha1.ProviderNone {
		return d.delegated(deployment)
	}
	facts, err := d.certificateFacts(deployment)
	if err != nil {
		return certificate{}, err
	}
	if facts.OtherWriter, err = d.occupied(facts.Secret); err != nil {
		return certificate{}, err
	}
	issuance, err := d.issuanceFor(deployment)
	if err != nil {
		return certificate{}, err
	}
	facts.Issuer, facts.Issued = issuance.provider, issuance.generation()
	if len(issuance.names) > 0 {
		facts.Names = issuance.names
	}
	var pods map[string]*corev1.Pod
	provided := map[certs.Need]bool{}
	for {
		decided := d.judge(facts)
		if decided.Need == certs.NeedNothing {
			result := d.certificateOf(deployment, facts, decided, pods)
			d.addIssuance(issuance, &result, decided)
			return result, nil
		}
		if provided[decided.Need] {
			return certificate{}, fmt.Errorf("decide about Secret %s/%s: the fact %q is needed again after it was provided; the clock may have been changed meanwhile", facts.SecretMeta.Namespace, facts.SecretMeta.Name, decided.Need)
		}
		provided[decided.Need] = true
		probed, err := d.addNeeded(deployment, &facts, decided)
		if err != nil {
			return certificate{}, err
		}
		if probed != nil {
			pods = probed
		}
	}
}

// addNeeded adds to the facts what a decision about a certificate needs, or asks for it.
func (d *decision) addNeeded(deployment string, facts *certs.Facts, decided certs.Decision) (pods map[string]*corev1.Pod, err error) {
	name := facts.SecretMeta.Name
	switch decided.Need {
	case certs.NeedNothing:
	case certs.NeedIssued:
		minted, known := d.minted[name]
		if !known {
			return nil, d.ask(MintCertificate{name, *decided.Mint})
		}
		facts.Issued = &minted
	case certs.NeedRotating:
		others, known := d.answers.Rotations[name]
		if !known {
			return nil, d.ask(ReserveRotation{types.NamespacedName{Namespace: facts.SecretMeta.Namespace, Name: name}})
		}
		facts.Rotating = &others
	case certs.NeedLive:
		trust, known := d.answers.Trust[deployment]
		if !known {
			return nil, d.ask(d.readTrust(deployment, name))
		}
		d.takeTrust(deployment, facts, trust)
	case certs.NeedEvidence:
		evidence, known := d.answers.Evidence[deployment]
		if !known {
			service := d.services[deployment]
			return nil, d.ask(ProbeCertificate{d.readTrust(deployment, name), service, d.Observed.Services[service], d.desired[deployment], d.Observed.Deployments[deployment], decided.Serving})
		}
		d.takeTrust(deployment, facts, evidence.Trust)
		facts.Evidence, pods = evidence.Found, evidence.Pods
	}
	return pods, nil
}

// readTrust returns the question for the trust in the certificate of a Deployment.
func (d *decision) readTrust(deployment, secret string) ReadTrust {
	read := ReadTrust{
		Deployment: deployment, Secret: secret,
		Selector: csvspec.OwnerSelector(d.Versions()).String(), CRDs: slices.Sorted(maps.Keys(d.Observed.CRDs)),
	}
	for _, recorded := range d.Status.Deployments {
		read.Recorded = append(read.Recorded, recorded.Webhooks...)
	}
	return read
}

// takeTrust replaces what the caches show by what the API server has.
func (d *decision) takeTrust(deployment string, facts *certs.Facts, trust Trust) {
	result := trusted{facts.SecretMeta.Name, trust}
	result.addTo(d)
	d.learned = append(d.learned, result)
	facts.Secret, facts.Registrations, facts.Live = trust.Secret, d.registered(d.services[deployment]), true
}

// ask adds questions, which end the decision.
func (d *decision) ask(questions ...Question) error {
	d.questions = append(d.questions, questions...)
	return errUndecided
}

// secret returns a Secret, which is nil if it does not exist. Caches show only Secrets with the label
// of the manager. The trust in a new certificate must not be published when a Secret of another
// client has the name.
func (d *decision) secret(name string) (*corev1.Secret, error) {
	known, ok := d.secrets[name]
	if !ok {
		return nil, d.ask(ReadSecret{name})
	}
	return known, nil
}

// certificateFacts returns what the caches show.
func (d *decision) certificateFacts(deployment string) (certs.Facts, error) {
	service := d.services[deployment]
	live := d.Observed.Deployments[deployment]
	blank := csvspec.OwnedMeta(d.CSV, names.Secret(service))
	_, restartedFor := d.template(deployment)
	facts := certs.Facts{
		Secret:          d.secrets[blank.Name],
		SecretMeta:      blank,
		Registrations:   d.registered(service),
		Names:           certs.DNSNames(service, d.CSV.Namespace),
		Running:         live != nil,
		RotationRequest: d.CSV.Annotations[wellknown.AnnotationRotate],
		RotateAt:        certs.RotateAtRequest(d.CSV.Status.CertsRotateAt, d.CSV.ManagedFields, d.now),
		RestartedFor:    restartedFor,
		RestartCosts:    workload.RestartCosts(live),
		Paused:          live != nil && live.Spec.Paused,
		ReadOnly:        d.Observed.Refused[drift.KeyOf(&corev1.Secret{ObjectMeta: blank})] != "" || d.Observed.SecretContested(&corev1.Secret{ObjectMeta: blank}, d.now),
	}
	if facts.Unused() {
		return facts, nil
	}
	var err error
	facts.Secret, err = d.secret(blank.Name)
	return facts, err
}

func (d *decision) registered(service string) []certs.Registration {
	var all []certs.Registration
	for _, t := range d.Observed.TrustsOf(d.CSV.Namespace, service) {
		all = append(all, certs.Registration{
			Name: t.Name, Version: t.Version, CABundle: t.CABundle, Generation: t.Generation,
			Refused: d.Observed.Refused[t.Name], Contested: d.Observed.Contests[t.Name].Message(t.Name, d.now),
		})
	}
	return all
}

// judge asks package certs. It does not modify the Secret of another ClusterServiceVersion.
func (d *decision) judge(facts certs.Facts) certs.Decision {
	if facts.Secret != nil {
		facts.OtherWriter = cmp.Or(d.refusal(facts.Secret), facts.OtherWriter)
		facts.Recreated = d.Observed.RecreatedByOther(facts.Secret, d.now)
	}
	policy, _ := d.policy()
	return certs.Decide(facts, policy, d.now)
}

// policy returns the policy of the manager with the changes of the Subscription, and what is wrong
// with these.
func (d *decision) policy() (certs.Policy, string) {
	policy, problems := certs.PolicyFrom(d.Settings.Certificates, d.Config.Annotations)
	for i, problem := range problems {
		problems[i] = fmt.Sprintf("Subscription %s: %s", d.Config.Subscription, problem)
	}
	if warning := policy.Warning(); warning != "" && policy.Key != d.Settings.Certificates.Key {
		problems = append(problems, warning)
	}
	return policy, strings.Join(problems, "; ")
}

// certificateOf returns what a decision about a certificate means for the plan.
func (d *decision) certificateOf(deployment string, facts certs.Facts, decided certs.Decision, pods map[string]*corev1.Pod) certificate {
	result := certificate{
		status: managerv1alpha1.CertificateStatus{
			Provider: facts.Issuer, Phase: decided.Phase, Secret: facts.SecretMeta.Name,
			TrustedCAs: int64(decided.Trusted), Endpoints: decided.Endpoints, LostRegistrations: decided.LostRegistrations,
		},
		trust: render.Trust{CABundle: decided.Trust, Generation: decided.Generation},
		write: d.owned(decided.Write, facts.Secret),
		steps: deletion(decided.Remove),
		requeue: rollout.Requeue{At: decided.PollAt, Reason: "certificates of pods are probed, or a Secret of another client is read"}.Earliest(
			rollout.Requeue{At: decided.ChangesAt, Reason: "certificate"}),
	}
	if decided.Remove != nil && decided.Write == nil {
		d.blocking[drift.KeyOf(decided.Remove)] = true
	}
	_, unwise := d.policy()
	result.status.Message = joined(decided.Problem, decided.Message, unwise)
	if serving := decided.Serving; serving != nil {
		result.status.Provider = serving.Issuer
		result.status.Generation, result.status.CAFingerprint = serving.Number, serving.CAFingerprint
		result.status.NotBefore, result.status.NotAfter = instant(serving.NotBefore), instant(serving.NotAfter)
		result.status.RotatesAt, result.status.UpdatedAt = instant(serving.RenewAt), instant(serving.Updated)
	}
	result.trust.CAHash, result.trust.RestartedFor = d.startedFor(deployment, decided)
	d.rotateAtPending = d.rotateAtPending || decided.RotateAtPending
	for _, name := range decided.ResyncPods {
		result.resync = append(result.resync, pods[name])
	}
	return result
}

// afterDeletion requests the next reconciliation at once if a plan deletes a Secret of another client
// that has the name of a serving certificate: caches show neither the Secret nor its deletion.
func (d *decision) afterDeletion(plan []rollout.Step) rollout.Requeue {
	if slices.ContainsFunc(plan, func(step rollout.Step) bool { return step.Verb == rollout.Delete && d.blocking[step.Key()] }) {
		return rollout.Requeue{At: d.now, Reason: "a Secret of another client was deleted"}
	}
	return rollout.Requeue{}
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// startedFor returns the annotations of the pod template for the certificate. They change only when
// pods must be replaced.
func (d *decision) startedFor(deployment string, decided certs.Decision) (caHash, generation string) {
	caHash, generation = d.template(deployment)
	if decided.Serving == nil {
		return caHash, generation
	}
	if caHash == "" {
		caHash = decided.Serving.CAHash
	}
	if decided.Restart {
		caHash, generation = decided.Serving.CAHash, strconv.FormatInt(decided.Serving.Number, 10)
	}
	return caHash, generation
}

// template returns what the live pod template records about the certificate.
func (d *decision) template(deployment string) (caHash, restartedFor string) {
	live := d.Observed.Deployments[deployment]
	if live == nil {
		return "", ""
	}
	annotations := live.Spec.Template.Annotations
	return annotations[wellknown.AnnotationCAHash], annotations[wellknown.AnnotationRestartedFor]
}

// owned makes the ClusterServiceVersion the owner of the Secret to write, or else of the live one:
// garbage collection deletes a Secret with its last owner. While the ClusterServiceVersion is being
// deleted, it becomes the owner of nothing: what was orphaned stays.
func (d *decision) owned(write, there *corev1.Secret) *corev1.Secret {
	keepsOwners := d.Deleting && there != nil
	if write != nil {
		if !keepsOwners {
			csvspec.SetOwner(write, d.CSV)
		}
		issuers.RemoveCertManagerMetadata(write)
		return write
	}
	if there == nil || keepsOwners || d.refusal(there) != "" || !csvspec.IsManaged(there) {
		return nil
	}
	if adopted := there.DeepCopy(); csvspec.SetOwner(adopted, d.CSV) {
		return adopted
	}
	return nil
}

// instant returns a time for a status, in whole seconds; nil for the zero time.
func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t).Rfc3339Copy())
}

// TrustOf returns the caBundle that the registrations which call a Service will have.
func TrustOf(service string, facts Facts, results Results, now time.Time) []byte {
	d := newDecision(facts, results, now)
	return certs.Decide(certs.Facts{
		Secret: d.secrets[names.Secret(service)], Names: certs.DNSNames(service, d.CSV.Namespace),
	}, d.Settings.Certificates, now).Trust
}
