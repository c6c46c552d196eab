package subscriptions

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRefusals(t *testing.T) {
	const wayOut = ", with which another controller would write the caBundle that the manager writes: remove it, or set olm-webhook-manager.io/certificate-provider to none"
	for name, test := range map[string]struct {
		config     operatorsv1alpha1.SubscriptionConfig
		want       []string
		propagated map[string]string
	}{
		"nothing": {},
		"what does no harm": {
			config: operatorsv1alpha1.SubscriptionConfig{
				Volumes: []corev1.Volume{{Name: "ca"}}, VolumeMounts: []corev1.VolumeMount{{Name: "ca", MountPath: installtest.WebhookCert + "/more"}},
				Annotations: map[string]string{"cert-manager.io/cluster-issuer": "ours"},
			},
			propagated: map[string]string{"cert-manager.io/cluster-issuer": "ours"},
		},
		"the certificate's volumes": {
			config: operatorsv1alpha1.SubscriptionConfig{Volumes: []corev1.Volume{{Name: "ca"}, {Name: "webhook-cert"}, {Name: "apiservice-cert"}}},
			want: []string{
				"Subscription shop: spec.config.volumes[1] has the name webhook-cert of the volume with the serving certificate: give it another",
				"Subscription shop: spec.config.volumes[2] has the name apiservice-cert of the volume with the serving certificate: give it another",
			},
		},
		"mounts over the certificate": {
			config: operatorsv1alpha1.SubscriptionConfig{VolumeMounts: []corev1.VolumeMount{
				{Name: "mine", MountPath: installtest.WebhookCert + "/"}, {Name: "mine", MountPath: "/elsewhere"}, {Name: "webhook-cert", MountPath: "/here"},
			}},
			want: []string{
				"Subscription shop: spec.config.volumeMounts[0] hides the serving certificate at " + installtest.WebhookCert + "/: mount it elsewhere",
				"Subscription shop: spec.config.volumeMounts[2] hides the serving certificate at /here: mount it elsewhere",
			},
		},
		"mounts over a file of the certificate": {
			config: operatorsv1alpha1.SubscriptionConfig{VolumeMounts: []corev1.VolumeMount{
				{Name: "mine", MountPath: installtest.WebhookCert + "/tls.crt", SubPath: "tls.crt"}, {Name: "mine", MountPath: installtest.WebhookCert + "/x/../tls.key"},
				{Name: "mine", MountPath: installtest.WebhookCert + "/..data"}, {Name: "mine", MountPath: installtest.ServerCert + "/apiserver.crt"}, {Name: "mine", MountPath: installtest.ServerCert + "/ca.crt/"},
			}},
			want: []string{
				"Subscription shop: spec.config.volumeMounts[0] hides the serving certificate at " + installtest.WebhookCert + "/tls.crt: mount it elsewhere",
				"Subscription shop: spec.config.volumeMounts[1] hides the serving certificate at " + installtest.WebhookCert + "/x/../tls.key: mount it elsewhere",
				"Subscription shop: spec.config.volumeMounts[2] hides the serving certificate at " + installtest.WebhookCert + "/..data: mount it elsewhere",
				"Subscription shop: spec.config.volumeMounts[3] hides the serving certificate at " + installtest.ServerCert + "/apiserver.crt: mount it elsewhere",
				"Subscription shop: spec.config.volumeMounts[4] hides the serving certificate at " + installtest.ServerCert + "/ca.crt/: mount it elsewhere",
			},
		},
		"mounts above and next to the certificate": {
			config: operatorsv1alpha1.SubscriptionConfig{VolumeMounts: []corev1.VolumeMount{
				{Name: "mine", MountPath: "/tmp"}, {Name: "mine", MountPath: installtest.WebhookCert + "-of-others/tls.crt"}, {Name: "mine", MountPath: installtest.WebhookCert + "/tls.crt.d"},
			}},
		},
		"annotations that have the caBundle written": {
			config: operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
				"service.beta.openshift.io/inject-cabundle": "true", "cert-manager.io/inject-ca-from": "shop/cert", "example.com/team": "shop",
			}},
			want: []string{
				"Subscription shop: spec.config.annotations has cert-manager.io/inject-ca-from" + wayOut,
				"Subscription shop: spec.config.annotations has service.beta.openshift.io/inject-cabundle" + wayOut,
			},
			propagated: map[string]string{"example.com/team": "shop"},
		},
		"the same, where the manager writes none": {
			config: operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
				"cert-manager.io/inject-ca-from": "shop/cert", "olm-webhook-manager.io/certificate-provider": "none",
			}},
			propagated: map[string]string{"cert-manager.io/inject-ca-from": "shop/cert"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Subscription: "shop", SubscriptionConfig: test.config}
			installtest.Same(t, "refusals", test.want, config.Refusals(installtest.Operator(nil)))
			installtest.Same(t, "propagated", test.propagated, config.Propagated(), cmpopts.EquateEmpty())
		})
	}
}
