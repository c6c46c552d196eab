package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// relieve takes away what other issuers than the chosen one were told for a Deployment,
// and what they issued: what pods serve of it stands in a Secret of its own. Those who
// issue go before what they issued, or they would issue again. It is over when there are
// no steps, and nothing waits.
func (c *Controller) relieve(s *snapshot, service string, provider managerv1alpha1.CertificateProvider) (steps []rollout.Step, waits bool) {
	if provider != managerv1alpha1.ProviderCertManager {
		steps = c.dismissCertManager(s, service)
	}
	if provider != managerv1alpha1.ProviderServiceCA {
		asking := s.observed.Services[service]
		waits = asking != nil && asking.Annotations[vocabulary.AnnotationServingCertSecret] != ""
		steps = append(steps, c.dismissServiceCA(s, service, waits)...)
	}
	if len(steps) > 0 || waits {
		return steps, true
	}
	for _, name := range []string{names.Issued(names.CA(service)), names.Issued(names.Secret(service))} {
		secret := c.caches.Secrets.Get(s.csv.Namespace, name)
		if secret != nil && s.mayClaim(secret) == "" && issuers.IssuedBy(secret) != provider && csvspec.Managed(secret) && s.ownership.Owns(secret) {
			steps = append(steps, deletion(secret)...)
		}
	}
	return steps, len(steps) > 0
}

func (c *Controller) dismissCertManager(s *snapshot, service string) (steps []rollout.Step) {
	if !c.hasCertManager() {
		return nil
	}
	order := issuers.Order{Service: service, Meta: csvspec.OwnedMeta(s.csv, "")}
	for _, o := range order.Objects() {
		cached, _ := c.foreign.Of(toldResources[o.GetKind()])
		steps = append(steps, deleteOwned(s, cached.Get(o.GetNamespace(), o.GetName()))...)
	}
	return steps
}

// dismissServiceCA takes its ConfigMap away. The Service stops asking when it is written.
func (c *Controller) dismissServiceCA(s *snapshot, service string, asks bool) []rollout.Step {
	cached, known := c.foreign.Known(informers.ConfigMaps)
	if !known && asks {
		cached, known = c.foreign.Of(informers.ConfigMaps)
	}
	if !known {
		return nil
	}
	return deleteOwned(s, cached.Get(s.csv.Namespace, names.CA(service)))
}

func deleteOwned(s *snapshot, o *unstructured.Unstructured) []rollout.Step {
	if o == nil || !csvspec.Managed(o) || !s.ownership.Owns(o) || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: o, Live: o}}
}
