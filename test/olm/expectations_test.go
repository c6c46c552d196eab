package olm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// Users, consoles and scripts find around an operator from a catalog what olm-operator makes: the Operator with its
// components, the ClusterRoles of its API and of its group, the label of what OLM manages, and copies of the version.
func TestWhatUsersExpectOfAnInstallation(t *testing.T) {
	e, o := newExample(t, "projectpolicy")
	v1 := e.example(o.bundle).Release("0.1.0")
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())

	e.hasComponents(v1.Package+"."+e.namespace, "ClusterServiceVersion", "Subscription", "InstallPlan", "CustomResourceDefinition", "Deployment", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
	e.groupGrants("projectpolicy.example.com", "projectpolicies")
	e.hasLabelManaged()
	e.copies(v1.Name())
}

// hasComponents waits until an Operator refers to objects of some kinds.
func (e *env) hasComponents(operator string, kinds ...string) {
	e.Helper()
	e.eventually("Operator "+operator+" has its components", func() (bool, any) {
		live, err := olmClient.Operators().Get(e.ctx, operator, metav1.GetOptions{})
		if err != nil || live.Status.Components == nil {
			return false, err
		}
		var found []string
		for _, ref := range live.Status.Components.Refs {
			found = append(found, ref.Kind)
		}
		return !slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(found, kind) }), found
	})
}

// groupGrants waits until the ClusterRole for administrators of the OperatorGroup has every verb of a resource, by
// the aggregation of the cluster.
func (e *env) groupGrants(group, resource string) {
	e.Helper()
	selector := metav1.ListOptions{LabelSelector: wellknown.LabelOwnerKind + "=OperatorGroup," + wellknown.LabelOwnerNamespace + "=" + e.namespace}
	e.eventually("administrators of the group may do everything with "+resource, func() (bool, any) {
		roles := kube.List(e, kubeClient.RbacV1().ClusterRoles(), selector).Items
		return slices.ContainsFunc(roles, func(role rbacv1.ClusterRole) bool {
			return strings.HasPrefix(role.Name, "olm.og."+e.namespace+".admin-") && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, "*")
			})
		}), roles
	})
}

// hasLabelManaged fails the test for an object of the version without the label by which OLM finds what it manages.
func (e *env) hasLabelManaged() {
	e.Helper()
	for _, resource := range owned {
		list, err := dynamicClient.Resource(resource).List(e.ctx, metav1.ListOptions{LabelSelector: ofVersionsIn(e.namespace)})
		e.must(err)
		for _, o := range list.Items {
			if o.GetLabels()[wellknown.LabelManaged] != "true" {
				e.Errorf("%s %s/%s lacks the label %s", resource.Resource, o.GetNamespace(), o.GetName(), wellknown.LabelManaged)
			}
		}
	}
}

// copies waits until another namespace has a copy of a version, and until it has none while copies are disabled.
func (e *env) copies(csv string) {
	e.Helper()
	isCopied := func(want bool) {
		e.Helper()
		e.eventually("another namespace has a copy", func() (bool, any) {
			live, err := olmClient.ClusterServiceVersions(metav1.NamespaceDefault).Get(e.ctx, csv, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				e.must(err)
			}
			return (err == nil) == want, live
		})
	}
	isCopied(true)
	e.disablesCopies(true)
	e.Cleanup(func() {
		e.ctx = context.WithoutCancel(e.ctx)
		e.disablesCopies(false)
	})
	isCopied(false)
	e.disablesCopies(false)
	isCopied(true)
}

// disablesCopies changes the OLMConfig of the cluster, which catalog-operator creates.
func (e *env) disablesCopies(disabled bool) {
	e.Helper()
	kube.Patch(e, olmClient.OLMConfigs(), "cluster", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"features":{"disableCopiedCSVs":%t}}}`, disabled))
}
