package reachability

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
)

// configurations returns the names of the configurations that have a webhook, if calls fail. Those of other clients are in no
// cache.
func (w *Watcher) configurations(ctx context.Context, observed calls.Observation) (map[calls.Webhook][]string, error) {
	if !observed.Fails() {
		return nil, nil
	}
	all := map[calls.Webhook][]string{}
	cached := metav1.ListOptions{ResourceVersion: "0"} // by the API server
	validating, err := w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, cached)
	if err != nil {
		return nil, err
	}
	for _, c := range validating.Items {
		for _, one := range c.Webhooks {
			of := calls.Webhook{Step: calls.Validating, Name: one.Name}
			all[of] = append(all[of], c.Name)
		}
	}
	mutating, err := w.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, cached)
	if err != nil {
		return nil, err
	}
	for _, c := range mutating.Items {
		for _, one := range c.Webhooks {
			of := calls.Webhook{Step: calls.Mutating, Name: one.Name}
			all[of] = append(all[of], c.Name)
		}
	}
	return all, nil
}
