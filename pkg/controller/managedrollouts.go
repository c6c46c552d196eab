package controller

import (
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// managedRollouts are those of the namespaces that this manager looks after.
func (c *versions) managedRollouts() []*managerv1alpha1.WebhookRollout {
	var managed []*managerv1alpha1.WebhookRollout
	for _, r := range c.caches.Rollouts.All() {
		if c.inScope(r.Namespace) {
			managed = append(managed, r)
		}
	}
	return managed
}
