package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
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

type certificate struct {
	status  managerv1alpha1.CertificateStatus
	trust   render.Trust
	write   *rollout.Step // nil when the Secret is as desired
	resync  []*corev1.Pod
	steps   []rollout.Step // what the issuer reads, and what is deleted for it
	requeue rollout.Requeue
}

// certifier decides about the serving certificate of one Deployment.
type certifier struct {
	*decision
	deployment, service string
}

func (c *certifier) certificate() (certificate, error) {
	if c.choice().Provider == managerv1alpha1.ProviderNone {
		return c.delegated()
	}
	facts, err := c.certificateFacts()
	if err != nil {
		return certificate{}, err
	}
	if facts.OtherWriter, err = c.occupied(facts.Secret); err != nil {
		return certificate{}, err
	}
	issuance, err := c.issuance()
	if err != nil {
		return certificate{}, err
	}
	facts.Provider, facts.Issued = issuance.provider, issuance.generation()
	if len(issuance.names) > 0 {
		facts.Names = issuance.names
	}
	var pods map[string]*corev1.Pod
	provided := map[certs.Need]bool{}
	for {
		decided := c.decideCertificate(facts)
		if decided.Need == certs.NeedNothing {
			result := c.certificateOf(facts, decided, pods)
			c.addIssuance(issuance, &result, decided)
			return result, nil
		}
		if provided[decided.Need] {
			return certificate{}, fmt.Errorf("decide about Secret %s/%s: the fact %q is needed again after it was provided; the clock may have been changed meanwhile", facts.SecretMeta.Namespace, facts.SecretMeta.Name, decided.Need)
		}
		provided[decided.Need] = true
		probed, err := c.addNeeded(&facts, decided)
		if err != nil {
			return certificate{}, err
		}
		if probed != nil {
			pods = probed
		}
	}
}

// addNeeded adds to the facts what a decision about a certificate needs, or asks for it.
func (c *certifier) addNeeded(facts *certs.Facts, decided certs.Decision) (pods map[string]*corev1.Pod, err error) {
	name := facts.SecretMeta.Name
	switch decided.Need {
	case certs.NeedNothing:
	case certs.NeedIssued:
		minted, known := c.minted[name]
		if !known {
			return nil, c.ask(MintCertificate{name, *decided.Mint})
		}
		facts.Issued = &minted
	case certs.NeedRotating:
		others, known := c.answers.Rotations[name]
		if !known {
			return nil, c.ask(ReserveRotation{types.NamespacedName{Namespace: facts.SecretMeta.Namespace, Name: name}})
		}
		facts.Rotating = &others
	case certs.NeedLive:
		trust, known := c.answers.Trust[c.deployment]
		if !known {
			return nil, c.ask(c.readTrust(name))
		}
		c.takeTrust(facts, trust)
	case certs.NeedPropagation:
		asked, known := c.answers.Propagation[c.deployment]
		if !known {
			return nil, c.ask(AskAPIServers{c.readTrust(name)})
		}
		c.takeTrust(facts, asked.Trust)
		facts.Propagation = c.propagation(asked.Found)
	case certs.NeedEvidence:
		evidence, known := c.answers.Evidence[c.deployment]
		if !known {
			return nil, c.ask(ProbeCertificate{c.readTrust(name), c.service, c.Observed.Services[c.service], c.desired[c.deployment], c.Observed.Deployments[c.deployment], decided.Serving})
		}
		c.takeTrust(facts, evidence.Trust)
		facts.Evidence, pods = evidence.Found, evidence.Pods
	}
	return pods, nil
}

// propagation adds the registrations that are not webhook configurations: nothing shows which state of them an API server
// has observed.
func (c *certifier) propagation(found certs.Propagation) *certs.Propagation {
	for _, t := range c.Observed.TrustsOf(c.CSV.Namespace, c.service) {
		switch t.Object.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		default:
			found.Unknown = cmp.Or(found.Unknown, "API servers do not show which state of "+t.Name+" they have observed")
		}
	}
	return &found
}

func (c *certifier) readTrust(secret string) ReadTrust {
	return ReadTrust{
		Deployment: c.deployment, Secret: secret, Recorded: recordedWebhooks(c.Status),
		Selector: csvspec.OwnerSelector(c.Versions()).String(), CRDs: slices.Sorted(maps.Keys(c.Observed.CRDs)),
	}
}

// maxRecorded limits the live reads for a status, which another client may have written. No operator has so many.
const maxRecorded = 500

// recordedWebhooks returns the webhooks of a status, one for each registration.
func recordedWebhooks(status managerv1alpha1.WebhookRolloutStatus) []managerv1alpha1.WebhookStatus {
	all := slices.Concat(lists.Map(status.Deployments, func(d managerv1alpha1.DeploymentStatus) []managerv1alpha1.WebhookStatus { return d.Webhooks })...)
	all = lists.Unique(all, func(w managerv1alpha1.WebhookStatus) string { return fmt.Sprint(w.Type, w.Configuration, w.CRDs) })
	return all[:min(len(all), maxRecorded)]
}

func (c *certifier) takeTrust(facts *certs.Facts, trust Trust) {
	result := trusted{facts.SecretMeta.Name, trust}
	result.addTo(c.decision)
	c.learned = append(c.learned, result)
	facts.Secret, facts.Registrations, facts.Live = trust.Secret, c.registered(), true
}

func (d *decision) ask(questions ...Question) error {
	d.questions = append(d.questions, questions...)
	return errUndecided
}

// secret asks the API server where the caches show nothing: they lack Secrets without the manager's label.
// A new certificate must not be trusted when a Secret of another client has the name.
func (c *certifier) secret(name string) (*corev1.Secret, error) {
	known, ok := c.secrets[name]
	if !ok {
		return nil, c.ask(ReadSecret{name})
	}
	return known, nil
}

func (c *certifier) certificateFacts() (certs.Facts, error) {
	live := c.Observed.Deployments[c.deployment]
	blank := csvspec.OwnedMeta(c.CSV, names.Secret(c.service))
	_, restartedFor := c.template()
	facts := certs.Facts{
		Secret:          c.secrets[blank.Name],
		SecretMeta:      blank,
		Registrations:   c.registered(),
		Names:           certs.DNSNames(c.service, c.CSV.Namespace),
		Running:         live != nil,
		RotationRequest: c.CSV.Annotations[wellknown.AnnotationRotate],
		RotateAt:        certs.RotateAtRequest(c.CSV.Status.CertsRotateAt, c.CSV.ManagedFields, c.now),
		RestartedFor:    restartedFor,
		RestartCosts:    workload.RestartCosts(live),
		Paused:          live != nil && live.Spec.Paused,
		ReadOnly:        c.Observed.Refused[drift.KeyOf(&corev1.Secret{ObjectMeta: blank})] != "" || c.Observed.SecretContested(&corev1.Secret{ObjectMeta: blank}, c.now),
	}
	if facts.Unused() {
		return facts, nil
	}
	var err error
	facts.Secret, err = c.secret(blank.Name)
	return facts, err
}

func (c *certifier) registered() []certs.Registration {
	var all []certs.Registration
	for _, t := range c.Observed.TrustsOf(c.CSV.Namespace, c.service) {
		all = append(all, certs.Registration{
			Name: t.Name, Version: t.Version, CABundle: t.CABundle, Generation: t.Generation,
			Refused: c.Observed.TrustRefusal(t.Object), Contested: c.Observed.Contests[t.Name].Message(t.Name, c.now), Blocked: c.Observed.TrustBlocked(t.Object, c.now),
		})
	}
	return all
}

// decideCertificate asks package certs. It does not modify the Secret of another ClusterServiceVersion.
func (c *certifier) decideCertificate(facts certs.Facts) certs.Decision {
	if facts.Secret != nil {
		facts.OtherWriter = cmp.Or(c.refusal(facts.Secret), facts.OtherWriter)
		facts.Recreated = c.Observed.RecreatedByOther(facts.Secret, c.now)
	}
	policy, _ := c.policy()
	return certs.Decide(facts, policy, c.now)
}

// policy returns the policy with the changes of the Subscription, and what is wrong with these.
func (c *certifier) policy() (certs.Policy, string) {
	policy, problems := certs.PolicyFrom(c.Settings.Certificates, c.Config.Annotations)
	for i, problem := range problems {
		problems[i] = fmt.Sprintf("Subscription %s: %s", c.Config.Subscription, problem)
	}
	if warning := policy.Warning(); warning != "" && policy.Key != c.Settings.Certificates.Key {
		problems = append(problems, warning)
	}
	return policy, strings.Join(problems, "; ")
}

// certificateOf returns what a decision about a certificate means for the plan.
func (c *certifier) certificateOf(facts certs.Facts, decided certs.Decision, pods map[string]*corev1.Pod) certificate {
	result := certificate{
		status: managerv1alpha1.CertificateStatus{
			Provider: facts.Provider, Phase: decided.Phase, Secret: facts.SecretMeta.Name,
			TrustedCAs: int64(decided.TrustedCAs), Endpoints: decided.Endpoints, LostRegistrations: decided.LostRegistrations,
			Propagation: decided.Propagation,
		},
		trust: render.Trust{CABundle: decided.Trust, Generation: decided.Generation},
		write: c.owned(decided.Write, facts.Secret),
		steps: deletion(decided.Remove),
		requeue: rollout.Requeue{At: decided.PollAt, Reason: "certificates of pods are probed, or a Secret of another client is read"}.Earliest(
			rollout.Requeue{At: decided.ChangesAt, Reason: "certificate"}),
	}
	if decided.Remove != nil && decided.Write == nil {
		c.blocking[drift.KeyOf(decided.Remove)] = true
	}
	_, unwise := c.policy()
	result.status.Message = joined(decided.Problem, decided.Message, unwise)
	if serving := decided.Serving; serving != nil {
		result.status.Provider = serving.Provider
		result.status.Generation, result.status.CAFingerprint = serving.Number, serving.CAFingerprint
		result.status.NotBefore, result.status.NotAfter = instant(serving.NotBefore), instant(serving.NotAfter)
		result.status.RenewalTime, result.status.LastUpdateTime = instant(serving.RenewAt), instant(serving.Updated)
	}
	result.trust.CAHash, result.trust.RestartedFor = c.startedFor(decided)
	c.rotateAtPending = c.rotateAtPending || decided.RotateAtPending
	result.resync = lists.Map(decided.ResyncPods, func(name string) *corev1.Pod { return pods[name] })
	return result
}

// afterDeletion reconciles at once after the deletion of an unlabelled Secret, which caches do not show.
func (d *decision) afterDeletion(plan []rollout.Step) rollout.Requeue {
	if slices.ContainsFunc(plan, func(step rollout.Step) bool { return step.Verb == rollout.Delete && d.blocking[step.Key()] }) {
		return rollout.Requeue{At: d.now, Reason: "a Secret of another client was deleted"}
	}
	return rollout.Requeue{}
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// startedFor returns the annotations of the pod template. They change only when pods must be replaced.
func (c *certifier) startedFor(decided certs.Decision) (caHash, generation string) {
	caHash, generation = c.template()
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

func (c *certifier) template() (caHash, restartedFor string) {
	live := c.Observed.Deployments[c.deployment]
	if live == nil {
		return "", ""
	}
	annotations := live.Spec.Template.Annotations
	return annotations[wellknown.AnnotationCAHash], annotations[wellknown.AnnotationRestartedFor]
}

// owned adds an owner, because garbage collection deletes a Secret with its last owner. A ClusterServiceVersion
// that is being deleted becomes the owner of nothing: what was orphaned stays.
func (c *certifier) owned(write, there *corev1.Secret) *rollout.Step {
	keepsOwners := c.Deleting && there != nil
	if write != nil {
		if !keepsOwners {
			csvspec.SetOwner(write, c.CSV)
		}
		issuers.RemoveCertManagerMetadata(write)
		return rollout.WriteSecret(write, there)
	}
	if there == nil || keepsOwners || c.refusal(there) != "" || !csvspec.IsManaged(there) {
		return nil
	}
	if adopted := there.DeepCopy(); csvspec.SetOwner(adopted, c.CSV) {
		return rollout.WriteSecret(adopted, there)
	}
	return nil
}

func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t).Rfc3339Copy())
}

// CABundleOf returns the caBundle that the registrations which call a Service will have.
func CABundleOf(service string, facts Facts, results Results, now time.Time) []byte {
	d := newDecision(facts, results, now)
	return certs.Decide(certs.Facts{
		Secret: d.secrets[names.Secret(service)], Names: certs.DNSNames(service, d.CSV.Namespace),
	}, d.Settings.Certificates, now).Trust
}
