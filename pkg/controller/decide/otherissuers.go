package decide

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// removeOtherIssuers deletes what other issuers than the chosen one read for a Deployment, and then
// what they issued: otherwise they would reissue it. Pods serve a copy in a Secret of their own. The
// removal is finished when there are no steps, and nothing waits.
func (d *decision) removeOtherIssuers(service string, provider managerv1alpha1.CertificateProvider) (steps []rollout.Step, waits bool, err error) {
	for _, other := range issuers.Providers {
		r, has := requests[other.Name]
		if !has || other.Name == provider {
			continue
		}
		removal, unfinished, err := r.remove(d, service)
		if err != nil {
			return nil, false, err
		}
		steps, waits = append(steps, removal...), waits || unfinished
	}
	if len(steps) > 0 || waits {
		return steps, true, nil
	}
	for _, name := range []string{names.Issued(names.CA(service)), names.Issued(names.Secret(service))} {
		secret := d.Issued[name]
		if secret != nil && d.refusal(secret) == "" && issuers.IssuedBy(secret) != provider && csvspec.IsManaged(secret) && d.Ownership.Owns(secret) {
			steps = append(steps, deletion(secret)...)
		}
	}
	return steps, len(steps) > 0, nil
}

func (d *decision) removeCertManager(service string) (steps []rollout.Step, waits bool, err error) {
	if !d.CertManager {
		return nil, false, nil
	}
	var keys []ObjectKey
	for _, o := range (issuers.CertManagerRequest{Service: service, Meta: csvspec.OwnedMeta(d.CSV, "")}).Objects() {
		keys = append(keys, keyOf(o))
	}
	objects, err := d.watched(keys...)
	for _, key := range keys {
		steps = append(steps, d.deleteOwned(objects[key].Live)...)
	}
	return steps, false, err
}

// removeServiceCA deletes the ConfigMap for service-ca. The annotation of the Service is removed when
// the Service is written.
func (d *decision) removeServiceCA(service string) (steps []rollout.Step, waits bool, err error) {
	live := d.Observed.Services[service]
	waits = live != nil && live.Annotations[wellknown.AnnotationServingCertSecret] != ""
	if !d.BundlesWatched && !waits {
		return nil, false, nil
	}
	bundle := ObjectKey{issuers.ConfigMaps, d.CSV.Namespace, names.CA(service)}
	objects, err := d.watched(bundle)
	if err != nil {
		return nil, false, err
	}
	return d.deleteOwned(objects[bundle].Live), waits, nil
}

func (d *decision) deleteOwned(o *unstructured.Unstructured) []rollout.Step {
	if o == nil || !csvspec.IsManaged(o) || !d.Ownership.Owns(o) || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: o, Live: o}}
}
