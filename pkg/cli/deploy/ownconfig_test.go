package deploy

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An upgrade applies what the command applied before, and nothing that another client owns.
func TestOwnConfig(t *testing.T) {
	const (
		fields   = `"fieldsV1": {"f:spec": {"f:name": {}, "f:config": {"f:affinity": {"f:nodeAffinity": {}}, "f:annotations": {"f:provider": {}}, "f:env": {}}}}`
		affinity = `"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}`
		config   = `{` + affinity + `, "annotations": {"provider": "cert-manager", "disabled": "v.shop.io"}, "env": [{"name": "A"}], "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}`
	)
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{}}
	own := &operatorsv1alpha1.SubscriptionConfig{
		Affinity:    &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
		Annotations: map[string]string{"provider": "cert-manager"}, Env: []corev1.EnvVar{{Name: "A"}},
	}
	for name, test := range map[string]struct {
		entry, spec string
		want        *operatorsv1alpha1.SubscriptionConfig
	}{
		"applied":                {`"manager": "kubectl-webhooks", "operation": "Apply", ` + fields, `{"config": ` + config + `}`, own},
		"updated":                {`"manager": "kubectl-webhooks", "operation": "Update", ` + fields, `{"config": ` + config + `}`, nil},
		"of a subresource":       {`"manager": "kubectl-webhooks", "operation": "Apply", "subresource": "status", ` + fields, `{"config": ` + config + `}`, nil},
		"of another client":      {`"manager": "gitops", "operation": "Apply", ` + fields, `{"config": ` + config + `}`, nil},
		"owners are unknown":     {``, `{"config": ` + config + `}`, nil},
		"without a config":       {`"manager": "kubectl-webhooks", "operation": "Apply", ` + fields, `{"name": "shop"}`, nil},
		"the name is owned only": {`"manager": "kubectl-webhooks", "operation": "Apply", "fieldsV1": {"f:spec": {"f:name": {}}}`, `{"config": ` + config + `}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			live := &operatorsv1alpha1.Subscription{}
			installtest.Must(t, json.Unmarshal([]byte(`{"metadata": {"managedFields": [{`+test.entry+`}]}, "spec": `+test.spec+`}`), live))
			got, err := OwnConfig(live)
			installtest.Must(t, err)
			installtest.Same(t, "config", test.want, got)
		})
	}
}
