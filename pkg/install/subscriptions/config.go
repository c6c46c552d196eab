// Package subscriptions reads what the administrator configures for an operator in the Subscription.
package subscriptions

import (
	"maps"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Config is what the administrator configures for a ClusterServiceVersion in its
// Subscription's spec.config. The zero value configures nothing.
type Config struct {
	// Subscription is the name of the Subscription; empty when there is none.
	Subscription string
	// Generation is the Subscription's.
	Generation int64
	operatorsv1alpha1.SubscriptionConfig
}

// ConfigOf is what a Subscription configures; it may be nil.
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

// Instruction is the value of an annotation of the config that begins with
// wellknown.AnnotationPrefix: it tells the manager what to do.
func (c Config) Instruction(annotation string) (value string, given bool) {
	value, given = c.Annotations[annotation]
	return value, given
}

// Propagated are the annotations of the config that derived objects bear: all but
// the instructions to the manager, for which no pod should restart, and those that are
// refused.
func (c Config) Propagated() map[string]string {
	propagated := maps.Clone(c.Annotations)
	maps.DeleteFunc(propagated, func(annotation, _ string) bool {
		return strings.HasPrefix(annotation, wellknown.AnnotationPrefix) || c.injects(annotation)
	})
	return propagated
}

// forPods are those of them that pods bear. Nobody injects a caBundle into a pod, and one
// that bore such an annotation would restart when the provider changes.
func (c Config) ForPods() map[string]string {
	annotations := c.Propagated()
	maps.DeleteFunc(annotations, func(annotation, _ string) bool { return asksForInjection(annotation) })
	return annotations
}
