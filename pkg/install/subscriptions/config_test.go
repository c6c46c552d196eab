package subscriptions

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestConfigAnnotations(t *testing.T) {
	s := subscription("shop", "shop.v1", "")
	s.Spec.Config = &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
		"example.com/team": "shop", "olm-webhook-manager.io/key-type": "rsa", "operatorframework.io/installed-alongside-1": "shop/shop.v1",
	}}
	config := ConfigOf(s)
	installtest.Same(t, "the instruction", "rsa", config.Annotations["olm-webhook-manager.io/key-type"])
	installtest.Same(t, "propagated", map[string]string{"example.com/team": "shop"}, config.Propagated())
	installtest.Same(t, "the number of annotations of the Subscription itself", 3, len(s.Spec.Config.Annotations))
}

func TestNoConfig(t *testing.T) {
	for name, s := range map[string]*operatorsv1alpha1.Subscription{
		"no Subscription": nil, "no config": subscription("shop", "shop.v1", ""), "no spec": {},
	} {
		config := ConfigOf(s)
		installtest.Same(t, name+": the number of annotations", 0, len(config.Annotations))
		installtest.Same(t, name+": the number that are propagated", 0, len(config.Propagated()))
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

func TestDisabled(t *testing.T) {
	conversion := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = operatorsv1alpha1.ConversionWebhook, "c.example.com"
	})
	mutate := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = installtest.Mutating, "m.example.com"
	})
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"), mutate, conversion)
	for name, test := range map[string]struct {
		value    string
		disabled []bool
		refusals []string
	}{
		"nothing":         {"", []bool{false, false, false}, nil},
		"one":             {"m.example.com", []bool{false, true, false}, nil},
		"two, with space": {" v.shop.example.com, m.example.com,", []bool{true, true, false}, nil},
		"a name that is none": {"v", []bool{false, false, false}, []string{
			`Subscription shop: spec.config.annotations, olm-webhook-manager.io/disabled-webhooks, names "v", which is no webhook of ClusterServiceVersion shop.v1: its webhooks are v.shop.example.com, m.example.com`,
		}},
		"a conversion webhook": {"c.example.com,m.example.com", []bool{false, true, false}, []string{
			`Subscription shop: spec.config.annotations, olm-webhook-manager.io/disabled-webhooks, names "c.example.com", a conversion webhook, without which its objects could not be read: remove the name`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
				Annotations: map[string]string{"olm-webhook-manager.io/disabled-webhooks": test.value},
			}}
			disabled := lists.Map(csv.Spec.WebhookDefinitions, config.Disabled)
			installtest.Same(t, "disabled", test.disabled, disabled)
			installtest.Same(t, "refusals", test.refusals, config.Refusals(csv))
		})
	}
}
