package subscriptions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

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
