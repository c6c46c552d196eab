package controller

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

var operatorConditions = operatorsv2.GroupVersion.WithResource("operatorconditions")

const (
	operatorConditionKind = "OperatorCondition"
	operatorConditionsCRD = "operatorconditions.operators.coreos.com"
)

// hasOperatorConditions tells whether the cluster has the kind: one with an old OLM, or
// where somebody left its definition out, does not.
func (c *gatherer) hasOperatorConditions() bool {
	crd := c.caches.CRDs.Get("", operatorConditionsCRD)
	return crd != nil && established(crd) && serves(crd, operatorsv2.GroupVersion.Version)
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func serves(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return v.Served
		}
	}
	return false
}

// operatorCondition is what an operator says about itself; nil when it has nothing to say
// it in. While the cache is being filled nobody knows.
func (c *gatherer) operatorCondition(csv *operatorsv1alpha1.ClusterServiceVersion) (*unstructured.Unstructured, error) {
	if !c.hasOperatorConditions() {
		return nil, nil
	}
	cached, filled := c.foreign.Of(operatorConditions)
	if !filled {
		return nil, informers.ErrStale
	}
	return cached.Get(csv.Namespace, csv.Name), nil
}

// askUpgradeable learns from the versions that are to be replaced whether they mind.
func (c *gatherer) askUpgradeable(u *rollout.Upgrade) error {
	if u.Started {
		return nil
	}
	for _, older := range u.From {
		live, err := c.operatorCondition(older)
		if err != nil {
			return err
		}
		condition, err := typedCondition(live)
		if err != nil {
			return err
		}
		if u.NotUpgradeable = lineage.NotUpgradeable(condition); u.NotUpgradeable != "" {
			return nil
		}
	}
	return nil
}

// mirrorConditions copies what an operator says to the status, as OLM v0 does.
func (c *Controller) mirrorConditions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	live, err := c.gather.operatorCondition(csv)
	if live == nil || err != nil {
		return err
	}
	condition, err := typedCondition(live)
	if err != nil {
		return err
	}
	conditions, differ := lineage.Mirrored(condition)
	if !differ {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": condition.UID, "resourceVersion": condition.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(operatorConditions).Namespace(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// conditionChanged matters to the version that says something in it, and to those that
// replace it.
func (c *eventHandlers) conditionChanged(condition drift.Object) {
	csv := c.caches.CSVs.Get(condition.GetNamespace(), condition.GetName())
	if csv == nil {
		return
	}
	c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	for _, newer := range c.versions.lineage(csv).Newer {
		c.queue.Add(queue.CSVKey(newer.Namespace, newer.Name))
	}
}

func typedCondition(live *unstructured.Unstructured) (*operatorsv2.OperatorCondition, error) {
	if live == nil {
		return nil, nil
	}
	condition := &operatorsv2.OperatorCondition{}
	return condition, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, condition)
}

// hasCertManager reports whether the API server serves the kinds of cert-manager.
func (c *gatherer) hasCertManager() bool {
	crd := c.caches.CRDs.Get("", issuers.CertificatesCRD)
	return crd != nil && established(crd)
}
