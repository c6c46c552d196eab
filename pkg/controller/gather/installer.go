package gather

import (
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// installer is the manager itself without a group: then nothing new is installed.
func (g *Gatherer) installer(group *operatorsv1.OperatorGroup) scope.Installer {
	if group == nil {
		return scope.Installer{}
	}
	return scope.InstallerOf(group, g.Caches.Accounts.Get(group.Namespace, group.Spec.ServiceAccountName), g.Settings.WithOLM)
}
