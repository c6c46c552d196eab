package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// orderedAt returns when a Service, whose annotation orders a certificate of service-ca, was created.
func orderedAt(service *corev1.Service, now time.Time) time.Time {
	if service == nil {
		return now
	}
	return service.CreationTimestamp.Time
}

func (d *decision) fromServiceCA(deployment string, _ issuers.Issuer) (issuance, error) {
	service := d.services[deployment]
	secret, err := d.secret(names.Issued(names.Secret(service)))
	if err != nil {
		return issuance{}, err
	}
	desired, err := unstructuredOf(issuers.ServiceCABundle(service, csvspec.OwnedMeta(d.CSV, "")))
	if err != nil {
		return issuance{}, err
	}
	i := issuance{service: issuers.ServiceCAAnnotations(service)}
	facts := issuers.ServiceCAFacts{Service: d.Observed.Services[service], Secret: secret}
	objects, err := d.watched(keyOf(desired))
	if err != nil {
		return issuance{}, err
	}
	bundle := objects[keyOf(desired)]
	live := bundle.Live
	if bundle.Cached {
		live = d.order(&i, desired, live)
	} else {
		i.requeue = retryAt(bundle.Since, d.now)
	}
	if live != nil {
		facts.Bundle = &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, facts.Bundle); err != nil {
			return issuance{}, err
		}
	}
	if secret == nil {
		i.requeue = i.requeue.Earliest(retryAt(orderedAt(facts.Service, d.now), d.now)) // it is not watched before it is adopted
	}
	i.Finding, i.secret = issuers.FromServiceCA(facts), secret
	i.steps = append(i.steps, d.adoptIssued(secret)...)
	return i, nil
}
