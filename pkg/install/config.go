package install

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
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
// vocabulary.OwnAnnotationPrefix: it tells the manager what to do.
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
		return strings.HasPrefix(annotation, vocabulary.OwnAnnotationPrefix) || c.injects(annotation)
	})
	return propagated
}

// forPods are those of them that pods bear. Nobody injects a caBundle into a pod, and one
// that bore such an annotation would restart when the provider changes.
func (c Config) forPods() map[string]string {
	annotations := c.Propagated()
	maps.DeleteFunc(annotations, func(annotation, _ string) bool { return asksForInjection(annotation) })
	return annotations
}

// SubscriptionOf is the Subscription that a ClusterServiceVersion was installed for,
// or nil: the one that names it as installed, else the one that starts with it, else
// the same for those that it replaces, the nearest first, and then for those that
// replace it: while the next version is on its way, the Subscription names but one
// of the two. The Subscriptions and the ClusterServiceVersions are those of its namespace.
func SubscriptionOf(
	csv *operatorsv1alpha1.ClusterServiceVersion,
	subscriptions []*operatorsv1alpha1.Subscription, csvs []*operatorsv1alpha1.ClusterServiceVersion,
) *operatorsv1alpha1.Subscription {
	if len(subscriptions) == 0 {
		return nil
	}
	ordered := slices.SortedFunc(slices.Values(subscriptions), func(a, b *operatorsv1alpha1.Subscription) int {
		return cmp.Compare(a.Name, b.Name)
	})
	for _, name := range lineage(csv, csvs) {
		for _, names := range []func(*operatorsv1alpha1.Subscription) bool{installed(name), startsWith(name)} {
			if i := slices.IndexFunc(ordered, names); i >= 0 {
				return ordered[i]
			}
		}
	}
	return nil
}

func installed(csv string) func(*operatorsv1alpha1.Subscription) bool {
	return func(s *operatorsv1alpha1.Subscription) bool { return s.Status.InstalledCSV == csv }
}

func startsWith(csv string) func(*operatorsv1alpha1.Subscription) bool {
	return func(s *operatorsv1alpha1.Subscription) bool { return s.Spec != nil && s.Spec.StartingCSV == csv }
}

// lineage names a ClusterServiceVersion, those before it along spec.replaces, of
// which the last may be gone already, and those after it.
func lineage(csv *operatorsv1alpha1.ClusterServiceVersion, csvs []*operatorsv1alpha1.ClusterServiceVersion) []string {
	before, after := map[string]string{csv.Name: csv.Spec.Replaces}, map[string]string{}
	for _, other := range slices.SortedFunc(slices.Values(csvs), func(a, b *operatorsv1alpha1.ClusterServiceVersion) int { return cmp.Compare(b.Name, a.Name) }) {
		before[other.Name] = other.Spec.Replaces
		if other.Spec.Replaces != "" {
			after[other.Spec.Replaces] = other.Name
		}
	}
	names := []string{csv.Name}
	for _, next := range []map[string]string{before, after} {
		for name := next[csv.Name]; name != "" && !slices.Contains(names, name); name = next[name] {
			names = append(names, name)
		}
	}
	return names
}
