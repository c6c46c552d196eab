package gather

import (
	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// installerOf is the manager itself without a group: then nothing new is installed.
func installerOf(group *operatorsv1.OperatorGroup, accounts informers.Store[*corev1.ServiceAccount], withOLM bool) scope.Installer {
	if group == nil {
		return scope.Installer{}
	}
	return scope.InstallerOf(group, accounts.Get(group.Namespace, group.Spec.ServiceAccountName), withOLM)
}
