package subscriptions

import (
	"slices"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSubscriptionOf(t *testing.T) {
	for name, test := range map[string]struct {
		subscriptions []*operatorsv1alpha1.Subscription
		csvs          []*operatorsv1alpha1.ClusterServiceVersion
		want          string
	}{
		"none":                               {},
		"another operator's":                 {subscriptions: []*operatorsv1alpha1.Subscription{subscription("other", "other.v1", "other.v0")}},
		"one that has installed nothing yet": {subscriptions: []*operatorsv1alpha1.Subscription{subscription("new", "", "")}},
		"the one that installed it": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("other", "other.v1", ""), subscription("shop", "shop.v2", "")},
			want:          "shop",
		},
		"the one that starts with it":    {subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "", "shop.v2")}, want: "shop"},
		"the one whose plan installs it": {subscriptions: []*operatorsv1alpha1.Subscription{current("shop", "shop.v2", "")}, want: "shop"},
		"installed wins over current": {
			subscriptions: []*operatorsv1alpha1.Subscription{current("a", "shop.v2", "other.v1"), subscription("b", "shop.v2", "")},
			want:          "b",
		},
		"installed wins over starting": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("a", "", "shop.v2"), subscription("b", "shop.v2", "")},
			want:          "b",
		},
		"the first by name": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("b", "shop.v2", ""), subscription("a", "shop.v2", "")},
			want:          "a",
		},
		"the version before no longer exists": {subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "shop.v1", "")}, want: "shop"},
		"two versions before": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "", "shop.v0")},
			csvs:          []*operatorsv1alpha1.ClusterServiceVersion{csvVersion("shop.v2", "shop.v1"), csvVersion("shop.v1", "shop.v0")},
			want:          "shop",
		},
		"the nearest version wins": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("a", "shop.v0", ""), subscription("b", "", "shop.v1")},
			csvs:          []*operatorsv1alpha1.ClusterServiceVersion{csvVersion("shop.v1", "shop.v0")},
			want:          "b",
		},
		"the next version is installed already": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "shop.v3", "")},
			csvs:          []*operatorsv1alpha1.ClusterServiceVersion{csvVersion("shop.v3", "shop.v2")},
			want:          "shop",
		},
		"versions that replace each other": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("other", "other.v1", "")},
			csvs:          []*operatorsv1alpha1.ClusterServiceVersion{csvVersion("shop.v2", "shop.v1"), csvVersion("shop.v1", "shop.v2")},
		},
	} {
		got := ConfigOf(Find(csvVersion("shop.v2", "shop.v1"), subscriptionsIn(test.subscriptions, test.csvs))).Subscription
		installtest.Same(t, name+": the Subscription", test.want, got)
	}
}

// current is a Subscription whose InstallPlan has another version than the installed one.
func current(name, current, installed string) *operatorsv1alpha1.Subscription {
	s := subscription(name, installed, "")
	s.Status.CurrentCSV = current
	return s
}

// subscriptionsIn finds them by reading all.
func subscriptionsIn(subscriptions []*operatorsv1alpha1.Subscription, csvs []*operatorsv1alpha1.ClusterServiceVersion) Lister {
	return Lister{
		Naming: func(csv string) []*operatorsv1alpha1.Subscription {
			return slices.DeleteFunc(slices.Clone(subscriptions), func(s *operatorsv1alpha1.Subscription) bool { return !slices.Contains(CSVNames(s), csv) })
		},
		Named: func(csv string) *operatorsv1alpha1.ClusterServiceVersion {
			for _, c := range csvs {
				if c.Name == csv {
					return c
				}
			}
			return nil
		},
		Replacing: func(csv string) []*operatorsv1alpha1.ClusterServiceVersion {
			return slices.DeleteFunc(slices.Clone(csvs), func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return c.Spec.Replaces != csv })
		},
	}
}
