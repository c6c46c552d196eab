package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	rollouttakeover "github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// reverted returns the Services, Roles and RoleBindings of a ClusterServiceVersion that run changes back. Kinds that the
// user may not read are left out.
func (c TakeoverReader) reverted(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription) ([]takeover.Reverted, error) {
	in := rollouttakeover.Input{Input: render.Input{CSV: csv, Config: subscriptions.ConfigOf(subscription)}}
	services, err := c.Kube.CoreV1().Services(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		in.Services = byName(lists.Map(services.Items, func(o corev1.Service) *corev1.Service { return &o }))
	} else if !apierrors.IsForbidden(err) {
		return nil, err
	}
	roles, err := c.Kube.RbacV1().Roles(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		in.Roles = byName(lists.Map(roles.Items, func(o rbacv1.Role) *rbacv1.Role { return &o }))
	} else if !apierrors.IsForbidden(err) {
		return nil, err
	}
	bindings, err := c.Kube.RbacV1().RoleBindings(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		in.RoleBindings = byName(lists.Map(bindings.Items, func(o rbacv1.RoleBinding) *rbacv1.RoleBinding { return &o }))
	} else if !apierrors.IsForbidden(err) {
		return nil, err
	}
	return lists.Map(in.RevertedBeside(), func(d rollouttakeover.Difference) takeover.Reverted {
		return takeover.Reverted{Object: takeover.Object{Kind: drift.KindOf(d.Object), Namespace: d.Object.GetNamespace(), Name: d.Object.GetName()}, Fields: d.Fields}
	}), nil
}

func byName[T metav1.Object](all []T) map[string]T {
	named := map[string]T{}
	for _, o := range all {
		named[o.GetName()] = o
	}
	return named
}
