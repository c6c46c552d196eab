package controller

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// decide returns the plan that the facts lead to. It answers the questions that must be answered first.
func (c *executor) decide(ctx context.Context, s *snapshot, now time.Time) (decide.Plan, error) {
	s.Answers = decide.Answers{
		Rotations: map[string]int{}, Trust: map[string]decide.Trust{}, Evidence: map[string]decide.Evidence{},
		Targets: map[types.NamespacedName]string{}, Objects: map[decide.ObjectKey]decide.Object{},
	}
	for {
		plan, err := c.decideOnce(s.Facts, now)
		switch {
		case err != nil:
			return plan, err
		case plan.Stale:
			return plan, informers.ErrStale
		case len(plan.Questions) == 0:
			s.Facts = plan.Facts
			return plan, nil
		}
		for _, question := range plan.Questions {
			if err := c.answer(ctx, s, question, now); err != nil {
				return decide.Plan{}, err
			}
		}
	}
}

// decideOnce renders and compares, which takes a processor and memory.
func (c *executor) decideOnce(facts decide.Facts, now time.Time) (decide.Plan, error) {
	defer c.processors.take()()
	return decide.Decide(facts, now)
}

// answer adds the answer to a question to the facts of the next round.
func (c *executor) answer(ctx context.Context, s *snapshot, question decide.Question, now time.Time) (err error) {
	switch q := question.(type) {
	case decide.MintCertificate:
		s.Minted[q.Secret], err = certs.Mint(q.Request)
	case decide.CountRotations:
		s.Answers.Rotations[q.Secret.Name] = c.rotationSlots.Others(q.Secret, c.caches.Secrets.By(informers.ByReplacing, ""), c.Certificates.Parallel, now)
	case decide.ReadSecret:
		s.Secrets[q.Name], err = c.writer.liveSecret(ctx, s.CSV.Namespace, q.Name)
	case decide.ReadTrust:
		s.Answers.Trust[q.Deployment], err = c.prober.readTrust(ctx, s, q)
	case decide.ProbeCertificate:
		s.Answers.Evidence[q.Deployment], err = c.prober.probeCertificate(ctx, s, q)
	case decide.ReadTarget:
		s.Answers.Targets[q.Certificate], err = c.readTarget(ctx, q.Certificate)
	case decide.WatchObject:
		s.Answers.Objects[q.ObjectKey] = c.watchObject(q.ObjectKey)
	default:
		return fmt.Errorf("no way to answer: %s", question.Key())
	}
	return err
}

// liveSecret returns a Secret, or nil if it does not exist.
func (c *writer) liveSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	live, err := c.Kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// readTrust reads the Secret of a Deployment, and everything that makes API servers call its webhooks.
func (c *prober) readTrust(ctx context.Context, s *snapshot, q decide.ReadTrust) (decide.Trust, error) {
	secret, err := c.writer.liveSecret(ctx, s.CSV.Namespace, q.Secret)
	if err != nil {
		return decide.Trust{}, err
	}
	live, err := c.writer.liveRegistrations(ctx, metav1.ListOptions{LabelSelector: csvspec.OwnerSelector(s.Versions()).String()})
	if err != nil {
		return decide.Trust{}, err
	}
	live = live.proven(s.Ownership)
	facts := s.Facts
	facts.Observed = q.Observed
	facts.Observed.Validating, facts.Observed.Mutating, facts.Observed.APIServices = live.validating, live.mutating, live.apiServices
	facts.Observed.Refused, facts.Observed.CRDs = maps.Clone(q.Observed.Refused), maps.Clone(q.Observed.CRDs)
	if err := c.addUnlabelled(ctx, &facts); err != nil {
		return decide.Trust{}, err
	}
	for name := range q.Observed.CRDs {
		crd, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			delete(facts.Observed.CRDs, name)
			continue
		}
		if err != nil {
			return decide.Trust{}, err
		}
		facts.Observed.CRDs[name] = crd
	}
	return decide.Trust{Secret: secret, Observed: facts.Observed}, nil
}

// readTarget returns the name of the Secret into which a Certificate of cert-manager issues; empty if
// the Certificate does not exist.
func (c *executor) readTarget(ctx context.Context, name types.NamespacedName) (string, error) {
	certificate, err := c.Dynamic.Resource(issuers.Certificates).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	target, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return target, nil
}

// watchObject returns an object from a cache that is filled on demand.
func (c *executor) watchObject(key decide.ObjectKey) decide.Object {
	store, cached := c.foreign.Of(key.Resource)
	object := decide.Object{Cached: cached, Since: store.Began}
	if key.Name != "" {
		object.Live = store.Get(key.Namespace, key.Name)
	}
	return object
}
