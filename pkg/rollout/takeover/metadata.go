package takeover

import (
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// withLiveMetadata returns the objects next to a Deployment with the metadata that olm-operator wrote.
func (in Input) withLiveMetadata(d render.Deployment) render.Deployment {
	if d.Service == nil {
		return d
	}
	if live := in.Services[d.Service.Name]; live != nil {
		requests := d.Service.Annotations
		d.Service = metadataOf(in.CSV, live, d.Service)
		d.Service.Annotations = labels.Merge(d.Service.Annotations, requests)
	}
	if live := in.Roles[d.Role.Name]; live != nil {
		d.Role = metadataOf(in.CSV, live, d.Role)
	}
	if live := in.RoleBindings[d.RoleBinding.Name]; live != nil {
		d.RoleBinding = metadataOf(in.CSV, live, d.RoleBinding)
	}
	return d
}

func (in Input) conditionWithLiveMetadata(c *render.Condition) *render.Condition {
	kept := *c
	if live := in.Roles[c.Role.Name]; live != nil {
		kept.Role = metadataOf(in.CSV, live, c.Role)
	}
	if live := in.RoleBindings[c.RoleBinding.Name]; live != nil {
		kept.RoleBinding = metadataOf(in.CSV, live, c.RoleBinding)
	}
	return &kept
}

// metadataOf keeps the metadata of an object that the CSV owns.
func metadataOf[T drift.Object](csv *operatorsv1alpha1.ClusterServiceVersion, live, desired T) T {
	if !csvspec.Owns(csv, live) || !csvspec.IsManaged(live) {
		return desired
	}
	kept := desired.DeepCopyObject().(T)
	kept.SetLabels(live.GetLabels())
	kept.SetAnnotations(live.GetAnnotations())
	kept.SetOwnerReferences(live.GetOwnerReferences())
	return kept
}
