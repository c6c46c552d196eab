package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// chosen is who issues an operator's certificates.
type chosen struct {
	issuers.Choice
	// mistake says why the choice cannot be read. Until it is mended, whoever issued goes
	// on, and is told nothing new.
	mistake string
}

// undecided is the provider before there was a choice that could be read.
const undecided managerv1alpha1.CertificateProvider = "undecided"

// choice reads what the Subscription chooses.
func (s *snapshot) choice() chosen {
	choice, err := issuers.ChoiceOf(s.config.Annotations)
	if err == nil {
		return chosen{Choice: choice}
	}
	return chosen{
		Choice:  issuers.Choice{Provider: cmp.Or(s.status.Provider, undecided)},
		mistake: fmt.Sprintf("Subscription %s/%s, spec.config.annotations: %v", s.csv.Namespace, s.config.Subscription, err),
	}
}

// issuance is what an issuer beside the manager is to be told, and what it made of it.
type issuance struct {
	issuers.Finding
	provider managerv1alpha1.CertificateProvider
	issuer   string   // the provider, and the issuer that was named to it
	names    []string // that a certificate must bear; none for all that the manager's own bear
	steps    []rollout.Step
	service  map[string]string // annotations by which a Service asks
	secret   *corev1.Secret    // that holds what was issued last
	again    time.Time         // when to look again at what does not tell by itself
}

// generation is what was issued, for the phases that any generation takes.
func (i issuance) generation() *certs.Generation {
	if i.Published == nil {
		return nil
	}
	return &certs.Generation{CA: i.Published.CA, Certificate: i.Published.Certificate, Key: i.Published.Key}
}

// addTo adds the part of an issuer to what a decision means for the rest.
func (i issuance) addTo(c *certificate, d certs.Decision, s *snapshot) {
	c.tell, c.trust.ServiceAnnotations = append(c.tell, i.steps...), i.service
	if d.Reissue {
		c.tell = append(c.tell, i.reissue(s)...)
	}
	c.again = sooner(c.again, i.again)
	if i.secret != nil {
		c.status.Rejected = d.Rejected.Status(i.issuer, drift.KeyOf(i.secret), "Pods are not given it", i.names)
	}
	i.explain(&c.status)
}

// reissue is the write by which an issuer is made to issue anew.
func (i issuance) reissue(s *snapshot) []rollout.Step {
	if i.secret == nil || !s.ownership.Owns(i.secret) {
		return nil // it is adopted first
	}
	return deletion(i.secret)
}

// explain says when an issuer renews, and what is wrong with it, which matters most while there
// is nothing to serve.
func (i issuance) explain(status *managerv1alpha1.CertificateStatus) {
	if i.provider != managerv1alpha1.ProviderManager {
		status.RotatesAt = instant(i.RenewAt)
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

// issuance asks the issuer of a Deployment's certificate.
func (c *Controller) issuance(ctx context.Context, s *snapshot, deployment string) (issuance, error) {
	choice := s.choice()
	steps, waits := c.relieve(s, s.services[deployment], choice.Provider)
	var i issuance
	var err error
	switch {
	case waits && choice.mistake == "":
		i.steps = steps
	case choice.Provider == managerv1alpha1.ProviderCertManager:
		i, err = c.fromCertManager(ctx, s, deployment, choice.Issuer)
	case choice.Provider == managerv1alpha1.ProviderServiceCA:
		i, err = c.fromServiceCA(ctx, s, deployment)
	}
	i.provider, i.issuer = choice.Provider, choice.Describe()
	if i.Problem == "" && i.secret != nil {
		i.Problem = s.mayClaim(i.secret)
	}
	if choice.Provider != managerv1alpha1.ProviderManager {
		// What API servers ask for; that other clients may use more names is the issuer's concern.
		i.names = []string{issuers.CalledName(s.services[deployment], s.csv.Namespace)}
	}
	if choice.mistake != "" {
		i.Problem, i.steps, i.secret = choice.mistake, nil, nil
	}
	return i, err
}

func (c *Controller) fromCertManager(ctx context.Context, s *snapshot, deployment string, issuer issuers.Issuer) (issuance, error) {
	service := s.services[deployment]
	policy, _ := c.policy(s)
	facts := issuers.CertManagerFacts{
		Installed: c.hasCertManager(),
		Order: issuers.Order{
			Service: service, Names: certs.DNSNames(service, s.csv.Namespace), Issuer: issuer,
			Validity: policy.Validity, RenewBefore: policy.RenewBefore, Key: policy.Key, Meta: csvspec.OwnedMeta(s.csv, ""),
		},
		Objects: map[string]*unstructured.Unstructured{},
	}
	secret, err := c.secret(ctx, s, names.Issued(names.Secret(service)))
	if err != nil {
		return issuance{}, err
	}
	facts.Secret = secret
	i := issuance{}
	if facts.Installed {
		i = c.orderFrom(s, &facts)
	}
	i.Finding, i.secret = issuers.FromCertManager(facts), secret
	i.steps = append(i.steps, adoptIssued(s, secret)...)
	i.steps = append(i.steps, adoptIssued(s, c.caches.Secrets.Get(s.csv.Namespace, names.Issued(names.CA(service))))...)
	return i, nil
}

// retryAt is when to ask again for what no event announces: often at first, then in proportion to
// the wait so far, and at least every 30 s.
func retryAt(since, now time.Time) time.Time {
	const shortest, longest = time.Second, 30 * time.Second
	return now.Add(min(max(now.Sub(since), shortest), longest))
}

// orderFrom compares what was ordered of cert-manager with what is there.
func (c *Controller) orderFrom(s *snapshot, facts *issuers.CertManagerFacts) (i issuance) {
	for _, resource := range []schema.GroupVersionResource{issuers.Certificates, issuers.Issuers, issuers.ClusterIssuers} {
		if cached, filled := c.foreign.Of(resource); !filled {
			return issuance{again: retryAt(cached.Began, c.now())}
		}
	}
	for _, desired := range facts.Order.Objects() {
		live := c.lookUpForeign(toldResources[desired.GetKind()], desired.GetNamespace(), desired.GetName())
		if live != nil {
			facts.Objects[desired.GetKind()+" "+desired.GetName()] = live
		}
		i.steps = append(i.steps, applyIfDiffers(desired, live)...)
	}
	switch named := facts.Order.Issuer; {
	case named.Group != issuers.Issuers.Group:
	case named.Kind == "ClusterIssuer":
		facts.Issuer = c.lookUpForeign(issuers.ClusterIssuers, "", named.Name)
	default:
		facts.Issuer = c.lookUpForeign(issuers.Issuers, s.csv.Namespace, named.Name)
	}
	return i
}

func (c *Controller) lookUpForeign(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	cached, _ := c.foreign.Of(resource)
	return cached.Get(namespace, name)
}

// hasCertManager tells whether cert-manager's definitions are there and served.
func (c *Controller) hasCertManager() bool {
	crd := c.caches.CRDs.Get("", issuers.CertificatesCRD)
	return crd != nil && established(crd)
}

// orderedAt is when a Service, whose annotation orders a certificate of service-ca, was created.
func orderedAt(service *corev1.Service, now time.Time) time.Time {
	if service == nil {
		return now
	}
	return service.CreationTimestamp.Time
}

func (c *Controller) fromServiceCA(ctx context.Context, s *snapshot, deployment string) (issuance, error) {
	service := s.services[deployment]
	secret, err := c.secret(ctx, s, names.Issued(names.Secret(service)))
	if err != nil {
		return issuance{}, err
	}
	desired, err := unstructuredOf(issuers.ServiceCABundle(service, csvspec.OwnedMeta(s.csv, "")))
	if err != nil {
		return issuance{}, err
	}
	i := issuance{service: issuers.ServiceCAAnnotations(service)}
	facts := issuers.ServiceCAFacts{Service: s.observed.Services[service], Secret: secret}
	cached, filled := c.foreign.Of(informers.ConfigMaps)
	live := cached.Get(desired.GetNamespace(), desired.GetName())
	if live != nil {
		facts.Bundle = &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, facts.Bundle); err != nil {
			return issuance{}, err
		}
	}
	if filled {
		i.steps = applyIfDiffers(desired, live)
	} else {
		i.again = retryAt(cached.Began, c.now())
	}
	if secret == nil {
		i.again = retryAt(orderedAt(facts.Service, c.now()), c.now()) // it is not watched before it is adopted
	}
	i.Finding, i.secret = issuers.FromServiceCA(facts), secret
	i.steps = append(i.steps, adoptIssued(s, secret)...)
	return i, nil
}

// adoptIssued lets the manager's caches see a Secret that an issuer made, and lets it go
// with its ClusterServiceVersion.
func adoptIssued(s *snapshot, secret *corev1.Secret) []rollout.Step {
	if secret == nil || s.mayClaim(secret) != "" {
		return nil
	}
	adopted := secret.DeepCopy()
	changed := csvspec.Own(adopted, s.csv)
	if adopted.Labels == nil {
		adopted.Labels = map[string]string{}
	}
	for label, value := range csvspec.OwnerLabels(s.csv) {
		if adopted.Labels[label] != value {
			adopted.Labels[label], changed = value, true
		}
	}
	if !changed {
		return nil
	}
	metadata := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: adopted.Namespace, Name: adopted.Name, Labels: adopted.Labels, OwnerReferences: adopted.OwnerReferences}}
	return []rollout.Step{{Verb: rollout.Update, Object: adopted, Live: secret, Drift: drift.Drift{Fields: []string{"metadata"}}, Desired: metadata}}
}

// deletion is the write that takes a Secret away, if there is one to take away.
func deletion(secret *corev1.Secret) []rollout.Step {
	if secret == nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: secret, Live: secret}}
}

// applyIfDiffers is the write that makes an object be as desired, if there is one to do.
func applyIfDiffers(desired, live *unstructured.Unstructured) []rollout.Step {
	if live == nil {
		return []rollout.Step{{Verb: rollout.Apply, Object: desired, Desired: desired}}
	}
	found := drift.Of(desired, live)
	if found.None() {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Apply, Object: desired, Live: live, Drift: found, Desired: desired}}
}

// toldResources are those of the objects by which issuers and operators are told something, by
// kind: the manager has no types for them, or caches them apart.
var toldResources = map[string]schema.GroupVersionResource{
	"Certificate":         issuers.Certificates,
	"Issuer":              issuers.Issuers,
	"ConfigMap":           informers.ConfigMaps,
	operatorConditionKind: operatorConditions,
}

func unstructuredOf(o runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

// tell writes what an issuer or an operator reads, or takes it away.
func (c *Controller) tell(ctx context.Context, step rollout.Step, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, known := toldResources[o.GetKind()]
	if !known {
		return nil, fmt.Errorf("no way to write a %s", o.GetKind())
	}
	client := c.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	apply := func() (*unstructured.Unstructured, error) {
		return client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: vocabulary.FieldManager, Force: true})
	}
	switch step.Verb {
	case rollout.Create:
		created, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: vocabulary.FieldManager})
		if apierrors.IsAlreadyExists(err) {
			return apply()
		}
		return created, err
	case rollout.Update:
		return client.Update(ctx, o, metav1.UpdateOptions{FieldManager: vocabulary.FieldManager})
	case rollout.Delete:
		err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
		if apierrors.IsNotFound(err) {
			return o, nil
		}
		return o, err
	default:
		return apply()
	}
}
