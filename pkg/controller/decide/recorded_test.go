package decide

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A forged status costs a limited number of reads.
func TestRecordedWebhooks(t *testing.T) {
	deploymentWith := func(names ...string) managerv1alpha1.DeploymentStatus {
		return managerv1alpha1.DeploymentStatus{Webhooks: lists.Map(names, func(name string) managerv1alpha1.WebhookStatus {
			return managerv1alpha1.WebhookStatus{Configuration: name}
		})}
	}
	many := installtest.ListOf(10000)
	for name, test := range map[string]struct {
		status managerv1alpha1.WebhookRolloutStatus
		want   int
	}{
		"none":              {managerv1alpha1.WebhookRolloutStatus{}, 0},
		"of two":            {managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{deploymentWith("a", "b"), deploymentWith("c")}}, 3},
		"the same":          {managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{deploymentWith("a", "a"), deploymentWith("a")}}, 1},
		"more than allowed": {managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{deploymentWith(many...)}}, maxRecorded},
	} {
		installtest.Same(t, "webhooks "+name, test.want, len(recordedWebhooks(test.status)))
	}
}
