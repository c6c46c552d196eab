package installer

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The pods run with what another client wrote into the config of an existing Subscription: the notice shows it, and an
// installation and an upgrade keep it.
func TestConfigOfAnotherClient(t *testing.T) {
	const subscription = `{"metadata": {"name": "shop", "namespace": "shop", "managedFields": [
{"manager": "kubectl-webhooks", "operation": "Apply", "fieldsV1": {"f:spec": {"f:config": {"f:nodeSelector": {"f:a": {}}, "f:annotations": {"f:provider": {}}}}}},
{"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:config": {".": {}, "f:env": {}, "f:volumes": {}, "f:annotations": {"f:disabled": {}}}}}}]},
"spec": {"name": "shop", "config": {"nodeSelector": {"a": "b"}, "annotations": {"provider": "cert-manager", "disabled": "v.shop.io"}, "env": [{"name": "A", "value": "live"}], "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}}}`
	const apis = "/apis/operators.coreos.com"
	c := answers(t, map[string]string{
		apis + "/v1alpha1/namespaces/shop/clusterserviceversions": `{"kind": "ClusterServiceVersionList", "apiVersion": "operators.coreos.com/v1alpha1", "items": []}`,
		apis + "/v1/namespaces/shop/operatorgroups":               `{"kind": "OperatorGroupList", "apiVersion": "operators.coreos.com/v1", "items": []}`,
		apis + "/v1alpha1/namespaces/shop/subscriptions":          `{"kind": "SubscriptionList", "apiVersion": "operators.coreos.com/v1alpha1", "items": [` + subscription + `]}`,
	}, func(*http.ServeMux) {})
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Name = "shop.v1"
	b := &bundle.Bundle{CSV: csv, Annotations: map[string]string{"operators.operatorframework.io.bundle.package.v1": "shop"}}
	root := []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	disabled := map[string]string{"disabled": "v.shop.io"} // the command set the provider earlier, and does not set it now
	for name, test := range map[string]struct {
		given, want *operatorsv1alpha1.SubscriptionConfig
	}{
		"without a config": {nil, &operatorsv1alpha1.SubscriptionConfig{Annotations: disabled, Env: []corev1.EnvVar{{Name: "A", Value: "live"}}, Volumes: root}},
		"with a config": {
			&operatorsv1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "A", Value: "given"}}},
			&operatorsv1alpha1.SubscriptionConfig{Annotations: disabled, Env: []corev1.EnvVar{{Name: "A", Value: "given"}}, Volumes: root},
		},
	} {
		o := bundle.Options{Namespace: "shop", Config: test.given}
		_, err := c.CompleteInstall(t.Context(), b, &o)
		installtest.Must(t, err)
		installtest.Same(t, name, test.want, o.Config)
	}
}
