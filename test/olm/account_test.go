package olm

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// catalog-operator and the manager install an operator with the permissions of the account of its OperatorGroup. The manager
// reports the permission that the account lacks, and continues when it is granted. The operator is uninstalled without it.
func TestSubscriptionInAGroupWithAnAccount(t *testing.T) {
	o := examples["projectpolicy"]
	e := newEnv(t, "projectpolicy", operatorsv1.OperatorGroupSpec{ServiceAccountName: "installer"})
	kube.Create(e, kubeClient.CoreV1().ServiceAccounts(e.namespace), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "installer"}})
	e.letAccount("install", "", "apps", "policy", "rbac.authorization.k8s.io", "operators.coreos.com", "apiextensions.k8s.io")
	v1 := e.example(o.bundle).Release("0.1.0")
	e.serve(catalog.Package{Name: v1.Package, DefaultChannel: "stable", Bundles: []catalog.Bundle{v1}, Channels: []catalog.Channel{catalog.Chain("stable", v1)}})
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "stable"})

	e.reaches(v1.Name(), operatorsv1alpha1.CSVPhaseFailed)
	e.installerLacks(v1.Name(), "ServiceAccount projectpolicy/installer of OperatorGroup projectpolicy may not create validatingwebhookconfigurations of admissionregistration.k8s.io in the whole cluster")
	revoke := e.letAccount("register", "admissionregistration.k8s.io")
	e.installs(v1.Package, v1.Name())
	load := o.load(e)
	revoke()
	e.rotates(e.namespace, v1.Name())
	load.GoesOn(o.answer)

	deleted := time.Now()
	e.must(olmClient.Subscriptions(e.namespace).Delete(e.ctx, v1.Package, metav1.DeleteOptions{}))
	e.must(olmClient.ClusterServiceVersions(e.namespace).Delete(e.ctx, v1.Name(), metav1.DeleteOptions{}))
	e.isGone(v1.Name())
	load.End(calls.UncoveredSince(deleted))
	e.leavesNothing()
}

// letAccount grants the account everything in some API groups.
func (e *env) letAccount(name string, groups ...string) (revoke func()) {
	e.Helper()
	name += "-" + e.namespace
	all := []string{"*"}
	kube.CreateTemporary(e, kubeClient.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: groups, Resources: all, Verbs: all}},
	})
	kube.CreateTemporary(e, kubeClient.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: "installer"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
	return func() {
		e.Helper()
		kube.Patch(e, kubeClient.RbacV1().ClusterRoles(), name, types.MergePatchType, []byte(`{"rules": []}`))
	}
}

// installerLacks waits until the WebhookRollout of a version reports a missing permission.
func (e *env) installerLacks(csv, want string) {
	e.Helper()
	e.eventually("the WebhookRollout reports: "+want, func() (bool, any) {
		rollout, err := olmClient.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, err
		}
		e.must(err)
		c := meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionInstallerForbidden)
		return c != nil && strings.Contains(c.Message, want), rollout.Status.Conditions
	})
}
