package takeover

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestScalersOf(t *testing.T) {
	const replicas, template = `{"f:spec":{"f:replicas":{},"f:template":{}}}`, `{"f:spec":{"f:template":{}}}`
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for name, test := range map[string]struct {
		manager, subresource, fields string
		operation                    metav1.ManagedFieldsOperationType
		scales                       bool
	}{
		"Argo CD":                           {"argocd-controller", "", replicas, apply, true},
		"Argo CD, applied by the client":    {"argocd-controller", "", replicas, update, true},
		"an older Argo CD":                  {"argocd-application-controller", "", replicas, update, true},
		"Argo CD without replicas":          {"argocd-controller", "", template, apply, false},
		"Flux":                              {"kustomize-controller", "", replicas, apply, true},
		"Helm by Flux":                      {"helm-controller", "", replicas, update, true},
		"another client that applies":       {"configsync", "", replicas, apply, true},
		"kubectl apply":                     {"kubectl-client-side-apply", "", replicas, update, false},
		"kubectl apply on the server":       {"kubectl", "", replicas, apply, false},
		"Helm":                              {"helm", "", replicas, update, false},
		"Helm, applied on the server":       {"helm", "", replicas, apply, false},
		"kubectl scale":                     {"kubectl", "scale", replicas, update, false},
		"an autoscaler":                     {"kube-controller-manager", "scale", replicas, update, false},
		"the Deployment controller":         {"kube-controller-manager", "", replicas, update, false},
		"operator-sdk olm install":          {"operator-sdk", "", replicas, update, false},
		"a web console":                     {"Mozilla", "", replicas, update, false},
		"olm-operator":                      {"olm", "", replicas, update, false},
		"takeover run":                      {"olm-webhook-manager-takeover", "scale", replicas, update, false},
		"fields that cannot be read":        {"argocd-controller", "", `{`, apply, false},
		"Argo CD, which scales as a person": {"argocd-server", "scale", replicas, update, false},
	} {
		var want []string
		if test.scales {
			want = []string{test.manager}
		}
		installtest.Same(t, name, want, ScalersOf([]metav1.ManagedFieldsEntry{
			{Manager: test.manager, Subresource: test.subresource, Operation: test.operation, FieldsV1: metav1.NewFieldsV1(test.fields)},
		}))
	}
	installtest.None(t, "clients without known fields", ScalersOf([]metav1.ManagedFieldsEntry{{Manager: "argocd-controller", Operation: apply}}))
}
