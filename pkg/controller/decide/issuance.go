package decide

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

type chosen struct {
	issuers.Choice
	// mistake is why the choice cannot be read. Until then the previous provider continues, with unchanged objects.
	mistake string
}

// unknownProvider is the provider before there was a choice that can be read.
const unknownProvider managerv1alpha1.CertificateProvider = "undecided"

func (d *decision) choice() chosen {
	choice, err := issuers.ChoiceOf(d.Config.Annotations)
	if err == nil {
		return chosen{Choice: choice}
	}
	return chosen{
		Choice:  issuers.Choice{Provider: cmp.Or(d.Status.Provider, unknownProvider)},
		mistake: fmt.Sprintf("Subscription %s/%s, spec.config.annotations: %v", d.CSV.Namespace, d.Config.Subscription, err),
	}
}

// issuance is what another issuer than the manager reads, and what it has issued.
type issuance struct {
	issuers.Finding
	provider managerv1alpha1.CertificateProvider
	issuer   string   // the provider and the named issuer
	names    []string // that a certificate must have; none for the names of the manager's certificates
	steps    []rollout.Step
	service  map[string]string // annotations with which a Service requests a certificate
	secret   *corev1.Secret    // with the latest certificate
	requeue  rollout.Requeue   // for what cannot be watched
	refusal  string            // an object of another client has a name that is needed
}

func (i issuance) generation() *certs.Generation {
	if i.Published == nil {
		return nil
	}
	return &certs.Generation{CA: i.Published.CA, Certificate: i.Published.Certificate, Key: i.Published.Key}
}

func (c *certifier) addIssuance(i issuance, to *certificate, decided certs.Decision) {
	to.steps, to.trust.ServiceAnnotations = append(to.steps, i.steps...), i.service
	if decided.Reissue && i.secret != nil && c.Ownership.Owns(i.secret) { // otherwise it is adopted first
		to.steps = append(to.steps, deletion(i.secret)...)
	}
	to.requeue = to.requeue.Earliest(i.requeue)
	if i.secret != nil {
		to.status.Rejected = decided.Rejected.Status(i.issuer, drift.KeyOf(i.secret), "Pods are not given it", i.names)
	}
	i.explain(&to.status)
}

// explain replaces the message by a problem while no certificate can be served.
func (i issuance) explain(status *managerv1alpha1.CertificateStatus) {
	if i.provider != managerv1alpha1.ProviderManager {
		status.RenewalTime = instant(i.RenewAt)
	}
	problem := i.Problem
	if status.Rejected != nil {
		problem = joined(status.Rejected.Message, problem)
	}
	switch {
	case problem == "":
	case status.CAFingerprint == "":
		status.Message = problem
	default:
		status.Message = joined(problem, status.Message)
	}
}

func (c *certifier) issuance() (issuance, error) {
	choice := c.choice()
	steps, waits, err := c.removeOtherIssuers(choice.Provider)
	if err != nil {
		return issuance{}, err
	}
	var i issuance
	if waits && choice.mistake == "" {
		i.steps = steps
	} else if r, has := requests[choice.Provider]; has {
		i, err = r.issue(c, choice.Issuer)
	}
	i.provider, i.issuer = choice.Provider, choice.Describe()
	i.Problem = cmp.Or(i.refusal, i.Problem)
	if i.Problem == "" && i.secret != nil {
		i.Problem = c.refusal(i.secret)
	}
	if choice.Provider != managerv1alpha1.ProviderManager {
		// API servers use only this name. An issuer may add names for other clients.
		i.names = []string{issuers.ServerName(c.service, c.CSV.Namespace)}
	}
	if choice.mistake != "" {
		i.Problem, i.steps, i.secret = choice.mistake, nil, nil
	}
	return i, err
}

// request is how a certificate of a provider with a controller is requested.
type request struct {
	// issue requests a certificate and returns what was issued.
	issue func(c *certifier, issuer issuers.Issuer) (issuance, error)
	// remove deletes the objects of the request. waits is set while the request is not removed.
	remove func(c *certifier) (steps []rollout.Step, waits bool, err error)
}

var requests = map[managerv1alpha1.CertificateProvider]request{
	managerv1alpha1.ProviderCertManager: {(*certifier).fromCertManager, (*certifier).removeCertManager},
	managerv1alpha1.ProviderServiceCA:   {(*certifier).fromServiceCA, (*certifier).removeServiceCA},
}

// No event announces the result: the pauses grow in proportion to the wait, up to 30 s.
func retryAt(since, now time.Time) rollout.Requeue {
	const shortest, longest = time.Second, 30 * time.Second
	return rollout.Requeue{At: now.Add(min(max(now.Sub(since), shortest), longest)), Reason: "an issuer has not issued"}
}

// requestObject neither writes nor returns an object of another client, whose deletion no event reports.
func (c *certifier) requestObject(i *issuance, desired, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live != nil {
		if refusal := c.refusal(live); refusal != "" {
			i.refusal = cmp.Or(i.refusal, refusal)
			i.requeue = i.requeue.Earliest(retryAt(live.GetCreationTimestamp().Time, c.now))
			return nil
		}
	}
	i.steps = append(i.steps, applyIfDiffers(desired, live)...)
	return live
}

// watched returns objects of caches that are filled on demand. It asks for all that are not known.
func (c *certifier) watched(keys ...ObjectKey) (map[ObjectKey]Object, error) {
	objects, unknown := map[ObjectKey]Object{}, []Question(nil)
	for _, key := range keys {
		object, known := c.answers.Objects[key]
		if object.Live == nil {
			object.Live = c.uncached[key]
		}
		if !known {
			unknown = append(unknown, WatchObject{key})
		}
		objects[key] = object
	}
	if len(unknown) > 0 {
		return nil, c.ask(unknown...)
	}
	return objects, nil
}

var issuerResources = issuers.Resources()

func keyOf(o *unstructured.Unstructured) ObjectKey {
	return ObjectKey{issuerResources[o.GetKind()], o.GetNamespace(), o.GetName()}
}

// adoptIssued labels a Secret of an issuer, so that the caches show it, and adds the owner.
func (c *certifier) adoptIssued(secret *corev1.Secret) []rollout.Step {
	if secret == nil || c.refusal(secret) != "" {
		return nil
	}
	adopted := secret.DeepCopy()
	if !csvspec.SetOwner(adopted, c.CSV) {
		return nil
	}
	metadata := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: adopted.Namespace, Name: adopted.Name, Labels: adopted.Labels, OwnerReferences: adopted.OwnerReferences}}
	return []rollout.Step{{Verb: rollout.Update, Object: adopted, Live: secret, Drift: drift.Drift{Fields: []string{"metadata"}}, Desired: metadata}}
}

// removeOtherIssuers deletes the requests, and then what was issued: otherwise it would be reissued. Pods serve
// a copy. The removal is finished when there are no steps, and nothing waits.
func (c *certifier) removeOtherIssuers(provider managerv1alpha1.CertificateProvider) (steps []rollout.Step, waits bool, err error) {
	for _, other := range issuers.Providers {
		r, has := requests[other.Name]
		if !has || other.Name == provider {
			continue
		}
		removal, unfinished, err := r.remove(c)
		if err != nil {
			return nil, false, err
		}
		steps, waits = append(steps, removal...), waits || unfinished
	}
	if len(steps) > 0 || waits {
		return steps, true, nil
	}
	for _, name := range []string{names.Issued(names.CA(c.service)), names.Issued(names.Secret(c.service))} {
		secret := c.Issued[name]
		if secret != nil && c.refusal(secret) == "" && issuers.IssuedBy(secret) != provider && csvspec.IsManaged(secret) && c.Ownership.Owns(secret) {
			steps = append(steps, deletion(secret)...)
		}
	}
	return steps, len(steps) > 0, nil
}

func (c *certifier) deleteOwned(o *unstructured.Unstructured) []rollout.Step {
	if o == nil || !csvspec.IsManaged(o) || !c.Ownership.Owns(o) || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: o, Live: o}}
}
