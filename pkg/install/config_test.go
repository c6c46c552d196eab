package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func TestSubscriptionOf(t *testing.T) {
	for name, test := range map[string]struct {
		subscriptions []*operatorsv1alpha1.Subscription
		csvs          []*operatorsv1alpha1.ClusterServiceVersion
		want          string
	}{
		"none": {},
		"another operator's": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("other", "other.v1", "other.v0")},
		},
		"one that has installed nothing yet": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("new", "", "")},
		},
		"the one that installed it": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("other", "other.v1", ""), subscription("shop", "shop.v2", "")},
			want:          "shop",
		},
		"the one that starts with it": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "", "shop.v2")},
			want:          "shop",
		},
		"installed wins over starting": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("a", "", "shop.v2"), subscription("b", "shop.v2", "")},
			want:          "b",
		},
		"the first by name": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("b", "shop.v2", ""), subscription("a", "shop.v2", "")},
			want:          "a",
		},
		"the version before is gone": {
			subscriptions: []*operatorsv1alpha1.Subscription{subscription("shop", "shop.v1", "")},
			want:          "shop",
		},
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
		t.Run(name, func(t *testing.T) {
			got := ConfigOf(SubscriptionOf(csvVersion("shop.v2", "shop.v1"), test.subscriptions, test.csvs)).Subscription
			if got != test.want {
				t.Errorf("the Subscription is %q, want %q", got, test.want)
			}
		})
	}
}

func TestConfigAnnotations(t *testing.T) {
	s := subscription("shop", "shop.v1", "")
	s.Spec.Config = &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
		"example.com/team": "shop", "olm-webhook-manager.io/key-type": "rsa",
	}}
	config := ConfigOf(s)
	if value, given := config.Instruction("olm-webhook-manager.io/key-type"); !given || value != "rsa" {
		t.Errorf("the instruction is %q, given: %t", value, given)
	}
	if value, given := config.Instruction("olm-webhook-manager.io/other"); given {
		t.Errorf("an instruction that nobody gave is %q", value)
	}
	if diff := cmp.Diff(map[string]string{"example.com/team": "shop"}, config.Propagated()); diff != "" {
		t.Errorf("propagated (-want +got):\n%s", diff)
	}
	if len(s.Spec.Config.Annotations) != 2 {
		t.Errorf("the Subscription itself is changed: %v", s.Spec.Config.Annotations)
	}
}

func TestNoConfig(t *testing.T) {
	for name, s := range map[string]*operatorsv1alpha1.Subscription{
		"no Subscription": nil, "no config": subscription("shop", "shop.v1", ""), "no spec": {},
	} {
		t.Run(name, func(t *testing.T) {
			config := ConfigOf(s)
			if _, given := config.Instruction("olm-webhook-manager.io/key-type"); given || len(config.Propagated()) > 0 {
				t.Errorf("the config is %+v", config)
			}
		})
	}
}

func subscription(name, installed, starting string) *operatorsv1alpha1.Subscription {
	return &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       &operatorsv1alpha1.SubscriptionSpec{StartingCSV: starting},
		Status:     operatorsv1alpha1.SubscriptionStatus{InstalledCSV: installed},
	}
}

func csvVersion(name, replaces string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	csv.Spec.Replaces = replaces
	return csv
}
