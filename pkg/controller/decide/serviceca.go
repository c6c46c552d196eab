package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

func requestedAt(service *corev1.Service, now time.Time) time.Time {
	if service == nil {
		return now
	}
	return service.CreationTimestamp.Time
}

func (c *certifier) fromServiceCA(issuers.Issuer) (issuance, error) {
	secret, err := c.secret(names.Issued(names.Secret(c.service)))
	if err != nil {
		return issuance{}, err
	}
	desired, err := unstructuredOf(issuers.ServiceCABundle(c.service, csvspec.OwnedMeta(c.CSV, "")))
	if err != nil {
		return issuance{}, err
	}
	i := issuance{service: issuers.ServiceCAAnnotations(c.service)}
	facts := issuers.ServiceCAFacts{Service: c.Observed.Services[c.service], Secret: secret}
	objects, err := c.watched(keyOf(desired))
	if err != nil {
		return issuance{}, err
	}
	bundle := objects[keyOf(desired)]
	live := bundle.Live
	if bundle.Cached {
		live = c.requestObject(&i, desired, live)
	} else {
		i.requeue = retryAt(bundle.Since, c.now)
	}
	if live != nil {
		facts.Bundle = &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, facts.Bundle); err != nil {
			return issuance{}, err
		}
	}
	if secret == nil {
		i.requeue = i.requeue.Earliest(retryAt(requestedAt(facts.Service, c.now), c.now)) // it is not watched before it is adopted
	}
	i.Finding, i.secret = issuers.FromServiceCA(facts), secret
	i.steps = append(i.steps, c.adoptIssued(secret)...)
	return i, nil
}

// removeServiceCA deletes the ConfigMap. The annotation is removed when the Service is written.
func (c *certifier) removeServiceCA() (steps []rollout.Step, waits bool, err error) {
	live := c.Observed.Services[c.service]
	waits = live != nil && live.Annotations[wellknown.AnnotationServingCertSecret] != ""
	if !c.Requestable[managerv1alpha1.ProviderServiceCA] && !waits {
		return nil, false, nil
	}
	bundle := ObjectKey{issuers.ConfigMaps, c.CSV.Namespace, names.CA(c.service)}
	objects, err := c.watched(bundle)
	if err != nil {
		return nil, false, err
	}
	return c.deleteOwned(objects[bundle].Live), waits, nil
}
