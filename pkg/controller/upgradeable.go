package controller

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// upgradeablePause is how often an operator is asked again that does not want to be
// replaced: the manager does not watch what it says.
const upgradeablePause = 2 * time.Second

// askUpgradeable learns from the versions that are to be replaced whether they mind. It
// asks the API server, and only while a version waits to take over.
func (c *Controller) askUpgradeable(ctx context.Context, u *rollout.Upgrade) error {
	if u.Began {
		return nil
	}
	for _, older := range u.From {
		condition, err := c.operatorCondition(ctx, older)
		if err != nil {
			return err
		}
		if u.NotUpgradeable = lineage.NotUpgradeable(condition); u.NotUpgradeable != "" {
			return nil
		}
	}
	return nil
}

// operatorCondition is what an operator says about itself; nil when it has nothing to say
// it in.
func (c *Controller) operatorCondition(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv2.OperatorCondition, error) {
	body, err := c.Kube.Discovery().RESTClient().Get().AbsPath(
		"apis", operatorsv2.GroupVersion.Group, operatorsv2.GroupVersion.Version, "namespaces", csv.Namespace, "operatorconditions", csv.Name).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	condition := &operatorsv2.OperatorCondition{}
	return condition, json.Unmarshal(body, condition)
}
