package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// subscribe makes a Subscription that starts with operator.v1.
func (e *env) subscribe(config *operatorsv1alpha1.SubscriptionConfig) {
	e.Helper()
	_, err := e.olm.OperatorsV1alpha1().Subscriptions(e.namespace).Create(e.ctx, &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		Spec:       &operatorsv1alpha1.SubscriptionSpec{CatalogSource: "catalog", CatalogSourceNamespace: e.namespace, Package: "operator", StartingCSV: "operator.v1", Config: config},
	}, metav1.CreateOptions{})
	e.must(err)
}

// reconfigure changes the Subscription's config.
func (e *env) reconfigure(change func(*operatorsv1alpha1.SubscriptionConfig)) {
	e.Helper()
	client := e.olm.OperatorsV1alpha1().Subscriptions(e.namespace)
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := client.Get(e.ctx, "operator", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(s.Spec.Config)
		_, err = client.Update(e.ctx, s, metav1.UpdateOptions{})
		return err
	}))
}

// What the administrator configures reaches what is derived; a change rolls out, and what
// is not configured any more goes.
func TestSubscriptionConfig(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.subscribe(&operatorsv1alpha1.SubscriptionConfig{
		Env:          []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "proxy:3128"}},
		NodeSelector: map[string]string{"kind": "infra"},
		Tolerations:  []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}},
		Volumes:      []corev1.Volume{{Name: "webhook-cert", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Annotations:  map[string]string{"example.com/team": "red", "cert-manager.io/inject-ca-from": "a/b", "olm-webhook-manager.io/anything": "x"},
	})
	e.runDeployments()
	m := e.manage()
	e.install(csv("operator.v1", "server"))

	pod := e.deployment("server").Spec.Template
	if env := pod.Spec.Containers[0].Env; env[0].Name != "HTTP_PROXY" || pod.Spec.NodeSelector["kind"] != "infra" || len(pod.Spec.Tolerations) != 1 {
		t.Errorf("the pod is not as it is configured: %+v", pod.Spec)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "webhook-cert" && (v.Secret == nil || v.Secret.SecretName != "server-service-cert") {
			t.Errorf("the certificate's volume is %+v", v)
		}
	}
	e.annotated("red")
	m.emits("Warning ConfigRefused")
	refused := conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused")
	for _, want := range []string{"spec.config.volumes[0] has the name webhook-cert", "has cert-manager.io/inject-ca-from"} {
		if !strings.Contains(refused.Message, want) {
			t.Errorf("ConfigRefused says %q, want %q", refused.Message, want)
		}
	}

	e.reconfigure(func(c *operatorsv1alpha1.SubscriptionConfig) {
		*c = operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{"example.com/team": "blue"}}
	})
	e.eventually("the config rolls out", func() (bool, any) {
		pod := e.deployment("server").Spec.Template
		return pod.Spec.NodeSelector == nil && pod.Annotations["example.com/team"] == "blue", pod
	})
	e.succeeds("operator.v1")
	e.annotated("blue")
	e.reconfigure(func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	e.eventually("the annotation is gone", func() (bool, any) {
		d := e.deployment("server")
		_, onPods := d.Spec.Template.Annotations["example.com/team"]
		_, onDeployment := d.Annotations["example.com/team"]
		_, onRegistration := e.registration("v.example.com").Annotations["example.com/team"]
		return !onPods && !onDeployment && !onRegistration, d.Annotations
	})
	e.eventually("nothing is refused any more", func() (bool, any) {
		c := conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused")
		return c.Type == "", c
	})
}

// annotated wants the team's annotation on all that is derived, and nothing else of it.
func (e *env) annotated(team string) {
	e.Helper()
	service, err := e.kube.CoreV1().Services(e.namespace).Get(e.ctx, "server-service", metav1.GetOptions{})
	e.must(err)
	deployment, registration := e.deployment("server"), e.registration("v.example.com")
	for what, annotations := range map[string]map[string]string{
		"Deployment": deployment.Annotations, "pod": deployment.Spec.Template.Annotations, "Service": service.Annotations, "registration": registration.Annotations,
	} {
		_, injected := annotations["cert-manager.io/inject-ca-from"]
		_, instructed := annotations["olm-webhook-manager.io/anything"]
		if annotations["example.com/team"] != team || injected || instructed {
			e.Errorf("the annotations of the %s are %v", what, annotations)
		}
	}
}

func conditionIn(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// The administrator takes a webhook out of service and back, without a pod noticing.
func TestSwitchWebhookOff(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.subscribe(&operatorsv1alpha1.SubscriptionConfig{})
	e.runDeployments()
	m := e.manage()
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("w.example.com", "server"))
	e.install(c)
	before := e.deployment("server").Generation

	e.reconfigure(func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations = map[string]string{"olm-webhook-manager.io/disabled-webhooks": "v.example.com,x.example.com"}
	})
	e.eventually("one webhook is off, one is on", func() (bool, any) {
		found := e.registered()
		_, on := found["w.example.com"]
		return len(found) == 1 && on, found
	})
	m.emits("Warning WebhookDisabled")
	e.eventually("the WebhookRollout tells it", func() (bool, any) {
		r := e.rollout("operator.v1")
		refused := conditionIn(r.Conditions, "ConfigRefused").Message
		return r.Ready == "1/1" && e.webhookStatus("operator.v1", "v.example.com").State == "Disabled" && strings.Contains(refused, `"x.example.com", which is no webhook`), r
	})
	e.succeeds("operator.v1")
	e.reconfigure(func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	e.eventually("both are on", func() (bool, any) { return len(e.registered()) == 2, nil })
	e.succeeds("operator.v1")
	if after := e.deployment("server").Generation; after != before {
		t.Errorf("the Deployment was changed %d times", after-before)
	}
}
