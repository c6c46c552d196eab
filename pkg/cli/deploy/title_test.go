package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A question about a kind of another group does not read as one about the kind of Kubernetes.
func TestTitle(t *testing.T) {
	for _, c := range []struct{ apiVersion, kind, want string }{
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "ClusterRole view"},
		{"evil.example.com/v1", "ClusterRole", "ClusterRole.evil.example.com view"},
		{"evil.k8s.io/v1", "ClusterRole", "ClusterRole.evil.k8s.io view"},
		{"v1", "Namespace", "Namespace view"},
		{"evil.example.com/v1", "Namespace", "Namespace.evil.example.com view"},
		{"policy/v1", "PodDisruptionBudget", "PodDisruptionBudget view"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "CustomResourceDefinition view"},
		{"apiregistration.k8s.io/v1", "APIService", "APIService view"},
		{"operators.coreos.com/v1", "OperatorGroup", "OperatorGroup view"},
		{"monitoring.coreos.com/v1", "ServiceMonitor", "ServiceMonitor.monitoring.coreos.com view"},
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(c.apiVersion)
		o.SetKind(c.kind)
		o.SetName("view")
		installtest.Same(t, c.apiVersion, c.want, Title(o))
	}
}
