// Package subscriptions reads what the administrator configures for an operator in the Subscription.
package subscriptions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Config is the spec.config of the Subscription of an operator. The zero value configures nothing.
type Config struct {
	// Subscription is the name of the Subscription, or "".
	Subscription string
	Generation   int64
	// AlsoNaming are the other Subscriptions that name a version of the operator.
	AlsoNaming []string
	// UnusablePriorityClass is why the PriorityClass of the annotations is ignored; empty if it exists, or was not read.
	UnusablePriorityClass string
	// KeepsPriorityClass are the Deployments whose pods keep it all the same, by name: it is not known that it does not exist.
	KeepsPriorityClass map[string]bool
	operatorsv1alpha1.SubscriptionConfig
}

// ConfigOf returns the config of a Subscription, which may be nil.
func ConfigOf(subscription *operatorsv1alpha1.Subscription) Config {
	if subscription == nil {
		return Config{}
	}
	config := Config{Subscription: subscription.Name, Generation: subscription.Generation}
	if subscription.Spec != nil && subscription.Spec.Config != nil {
		config.SubscriptionConfig = *subscription.Spec.Config
	}
	return config
}

// Propagated omits refused annotations, and the manager's own: their change would restart pods. It also omits that by
// which catalog-operator marks the definitions of a ClusterServiceVersion.
func (c Config) Propagated() map[string]string {
	propagated := maps.Clone(c.Annotations)
	maps.DeleteFunc(propagated, func(annotation, _ string) bool {
		return strings.HasPrefix(annotation, wellknown.AnnotationPrefix) || strings.HasPrefix(annotation, wellknown.AnnotationInstalledAlongsidePrefix) || c.injects(annotation)
	})
	return propagated
}

// ForPods excludes requests for a caBundle: on a pod they do nothing, and a change would restart it.
func (c Config) ForPods() map[string]string {
	annotations := c.Propagated()
	maps.DeleteFunc(annotations, func(annotation, _ string) bool { return asksForInjection(annotation) })
	return annotations
}

// Disabled is false for a conversion webhook, which objects need, and for an APIService, which blocks no request.
func (c Config) Disabled(d operatorsv1alpha1.WebhookDescription) bool {
	return !csvspec.StaysRegistered(csvspec.IdentityOf(d)) && slices.Contains(c.disabledNames(), d.GenerateName)
}

func (c Config) disabledNames() []string {
	return strings.FieldsFunc(c.Annotations[wellknown.AnnotationDisabledWebhooks], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// invalidDisabled returns the names of webhooks that cannot be disabled, each with the reason.
func (c Config) invalidDisabled(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var invalid []string
	for _, name := range c.disabledNames() {
		described := slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool { return d.GenerateName == name })
		switch {
		case described < 0:
			invalid = append(invalid, fmt.Sprintf("%q, which is no webhook of ClusterServiceVersion %s: its webhooks are %s", name, csv.Name, strings.Join(generateNames(csv), ", ")))
		case csv.Spec.WebhookDefinitions[described].Type == operatorsv1alpha1.ConversionWebhook:
			invalid = append(invalid, fmt.Sprintf("%q, a conversion webhook, without which its objects could not be read: remove the name", name))
		}
	}
	return invalid
}

func generateNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.FilterMap(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) (string, bool) {
		return d.GenerateName, d.Type != operatorsv1alpha1.ConversionWebhook
	})
}
