package audit

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Webhook is a webhook of a ClusterServiceVersion that was open.
type Webhook struct {
	Name      string                                 `json:"name"` // generateName in the ClusterServiceVersion
	Type      operatorsv1alpha1.WebhookAdmissionType `json:"type"`
	Namespace string                                 `json:"namespace"`
	// Owner is the name of the ClusterServiceVersion and of its WebhookRollout.
	Owner         string `json:"owner"`
	Configuration string `json:"configuration,omitempty"`
	// Open reports whether it is open now.
	Open bool `json:"open"`
	// Unread is why the objects in its scope are not known; empty if they are.
	Unread   string                    `json:"unread,omitempty"`
	Openings []managerv1alpha1.Opening `json:"openings"`

	// Declared is the webhook in its closed form, as its configuration has it; nil if it is not registered.
	Declared *admissionregistrationv1.ValidatingWebhook `json:"-"`
	// Namesakes are the other webhooks of the cluster with this name.
	Namesakes []admissionregistrationv1.ValidatingWebhook `json:"-"`
}

// Mutates reports whether the webhook can change objects.
func (w Webhook) Mutates() bool { return w.Type == operatorsv1alpha1.MutatingAdmissionWebhook }

// Configurations are the webhook configurations of a cluster.
type Configurations struct {
	Validating []admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating   []admissionregistrationv1.MutatingWebhookConfiguration
}

// Webhooks returns the webhooks that have openings; of these, only some if names are given.
func Webhooks(rollouts []managerv1alpha1.WebhookRollout, registered Configurations, names []string) []Webhook {
	var all []Webhook
	for _, r := range rollouts {
		for _, d := range r.Status.Deployments {
			for _, s := range d.Webhooks {
				chosen := len(names) == 0 || slices.Contains(names, s.GenerateName)
				if chosen && s.FailOpen != nil && len(s.FailOpen.Openings) > 0 {
					all = append(all, registered.webhook(r, s))
				}
			}
		}
	}
	for _, k := range keptIn(rollouts) {
		if len(names) == 0 || slices.Contains(names, k.status.GenerateName) {
			all = append(all, registered.webhook(k.rollout, k.status))
		}
	}
	return all
}

func (c Configurations) webhook(r managerv1alpha1.WebhookRollout, s managerv1alpha1.WebhookStatus) Webhook {
	w := Webhook{
		Name: s.GenerateName, Type: s.Type, Namespace: r.Namespace, Owner: r.Name, Configuration: s.Configuration,
		Openings: s.FailOpen.Openings, Open: s.FailOpen.IsOpen(),
	}
	annotations, webhooks := c.of(s)
	if _, annotated := annotations[wellknown.AnnotationFailOpen]; annotated {
		w.Open = true
	}
	for _, registered := range webhooks {
		w.Open = w.Open || strings.HasPrefix(registered.Name, wellknown.OpenWebhookPrefix)
		if registered.Name == s.GenerateName {
			w.Declared = declared(registered)
		}
	}
	w.Namesakes = c.namesakes(w)
	if w.Declared == nil {
		w.Unread = "the webhook is not registered: its rules and selectors are not known. Run the command again when it is registered"
	}
	return w
}

// of returns the annotations and the webhooks of a configuration.
func (c Configurations) of(s managerv1alpha1.WebhookStatus) (map[string]string, []admissionregistrationv1.ValidatingWebhook) {
	if s.Type == operatorsv1alpha1.MutatingAdmissionWebhook {
		found := lists.First(c.Mutating, func(m admissionregistrationv1.MutatingWebhookConfiguration) bool { return m.Name == s.Configuration })
		return found.Annotations, webhookconfig.Webhooks(&found)
	}
	found := lists.First(c.Validating, func(v admissionregistrationv1.ValidatingWebhookConfiguration) bool { return v.Name == s.Configuration })
	return found.Annotations, found.Webhooks
}

// namesakes returns the webhooks with the name of a webhook, open or closed, in other configurations. The name of its own one is
// unique among those of its type.
func (c Configurations) namesakes(w Webhook) []admissionregistrationv1.ValidatingWebhook {
	var all []admissionregistrationv1.ValidatingWebhook
	add := func(registered []admissionregistrationv1.ValidatingWebhook) {
		all = append(all, lists.Filter(registered, func(r admissionregistrationv1.ValidatingWebhook) bool {
			return strings.TrimPrefix(r.Name, wellknown.OpenWebhookPrefix) == w.Name
		})...)
	}
	for _, v := range c.Validating {
		if w.Mutates() || v.Name != w.Configuration {
			add(v.Webhooks)
		}
	}
	for _, m := range c.Mutating {
		if !w.Mutates() || m.Name != w.Configuration {
			add(webhookconfig.Webhooks(&m))
		}
	}
	return all
}

// declared returns a webhook without what an opening adds to it.
func declared(w admissionregistrationv1.ValidatingWebhook) *admissionregistrationv1.ValidatingWebhook {
	w.MatchConditions = lists.Filter(w.MatchConditions, func(c admissionregistrationv1.MatchCondition) bool {
		return c.Name != wellknown.OpenMatchCondition
	})
	return &w
}
