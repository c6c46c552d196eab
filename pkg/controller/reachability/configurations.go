package reachability

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
)

// configurations returns the names of the configurations that have a webhook, if calls fail. Those of other clients are in no
// cache.
func (w *Watcher) configurations(ctx context.Context, observed calls.Observation) (map[calls.Webhook][]string, error) {
	if !observed.Fails() {
		return nil, nil
	}
	all := owners{}
	cached := metav1.ListOptions{ResourceVersion: "0"} // by the API server
	validating, err := w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, cached)
	if err != nil {
		return nil, err
	}
	for _, c := range validating.Items {
		for _, one := range c.Webhooks {
			all.add(calls.Validating, one.Name, c.Name)
		}
	}
	mutating, err := w.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, cached)
	if err != nil {
		return nil, err
	}
	for _, c := range mutating.Items {
		for _, one := range c.Webhooks {
			all.add(calls.Mutating, one.Name, c.Name)
		}
	}
	return all, nil
}

// owners are the configurations that have each webhook.
type owners map[calls.Webhook][]string

// add adds a webhook of a configuration, also by the name that its calls count for while it is open.
func (o owners) add(step calls.Step, webhook, configuration string) {
	for _, name := range []string{webhook, calls.DeclaredName(webhook)} {
		if of := (calls.Webhook{Step: step, Name: name}); !slices.Contains(o[of], configuration) {
			o[of] = append(o[of], configuration)
		}
	}
}
