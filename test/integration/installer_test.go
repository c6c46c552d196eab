package integration

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// runAsAccount gives a ServiceAccount of the test's own what manifests grant the manager, and returns how to be it: a
// client that impersonates a manager could not impersonate another account.
func runAsAccount(e *env, files ...string) *rest.Config {
	e.Helper()
	token := tokenOf(e, "manager")
	for _, file := range files {
		role := manifestRole(e, file)
		role.Name += "-" + e.namespace
		bindInCluster(e, role, "manager")
		mayDo(e, userOf(e, "manager"), role.Rules[len(role.Rules)-1])
	}
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = token
	return config
}

func userOf(e *env, account string) string {
	return "system:serviceaccount:" + e.namespace + ":" + account
}

func bindInCluster(e *env, role *rbacv1.ClusterRole, account string) {
	e.Helper()
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), role)
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	})
}

// letInstall grants an account what an operator with webhooks needs in its namespace.
func letInstall(e *env, account string) {
	e.Helper()
	all := []string{"create", "get", "patch", "update", "delete"}
	meta := metav1.ObjectMeta{Name: "install"}
	kube.Create(e, e.kube.RbacV1().Roles(e.namespace), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"services", "secrets"}, Verbs: all},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: all},
	}})
	kube.Create(e, e.kube.RbacV1().RoleBindings(e.namespace), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	})
}

// letRegister grants an account the registration of webhooks.
func letRegister(e *env, account string) {
	e.Helper()
	bindInCluster(e, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "register-" + e.namespace}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"}, Verbs: []string{"create", "patch", "update"},
	}}}, account)
}

// installsAsAccount creates a group with an account that may install operators with webhooks. It returns how to be a manager
// that may act as the account.
func installsAsAccount(e *env) *rest.Config {
	e.Helper()
	spec := namespaces(e.namespace)
	spec.ServiceAccountName = "installer"
	operating(e, spec)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("installer")})
	letInstall(e, "installer")
	letRegister(e, "installer")
	return runAsAccount(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml")
}

// mayNot revokes what letInstall granted.
func mayNot(e *env) {
	e.Helper()
	e.must(e.kube.RbacV1().RoleBindings(e.namespace).Delete(e.ctx, "install", metav1.DeleteOptions{}))
	e.must(e.kube.RbacV1().Roles(e.namespace).Delete(e.ctx, "install", metav1.DeleteOptions{}))
	awaitDenied(e, userOf(e, "installer"), authorizationv1.ResourceAttributes{Namespace: e.namespace, Group: "apps", Resource: "deployments", Verb: "update"})
}

// forbidsInstaller waits until the CSV and its WebhookRollout name a permission that the account lacks.
func forbidsInstaller(e *env, account, lacks string) {
	e.Helper()
	want := "ServiceAccount " + e.namespace + "/" + account + " of OperatorGroup og " + lacks
	e.eventually("the WebhookRollout reports: "+want, func() (bool, any) {
		reported := conditionIn(e.rollout("operator.v1").Conditions, "InstallerForbidden")
		return reported.Status == metav1.ConditionTrue && strings.Contains(reported.Message, want), reported
	})
	e.eventually("the ClusterServiceVersion reports it, too", func() (bool, any) {
		s := e.get("operator.v1").Status
		message := csvstatus.Explained(s)
		return s.Phase == operatorsv1alpha1.CSVPhaseFailed && s.Reason == operatorsv1alpha1.CSVReasonComponentFailed && strings.Contains(message, want), message
	})
}

// An operator of a group with a ServiceAccount is installed with the permissions of that account. The status names each
// permission that it lacks, and the installation continues when the account has it.
func TestInstallationByAServiceAccount(t *testing.T) {
	e := newParallelEnv(t)
	spec := namespaces(e.namespace)
	spec.ServiceAccountName = "installer"
	operating(e, spec)
	m := manageThrough(e, runAsAccount(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml"), withOLM)
	e.create(csv("operator.v1", "server"))
	forbidsInstaller(e, "installer", "does not exist: create it, or remove spec.serviceAccountName")
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("installer")})
	forbidsInstaller(e, "installer", "may not create secrets in namespace "+e.namespace)
	kinds := lists.Map(e.owned(derived), func(o unstructured.Unstructured) string { return o.GetKind() })
	expect(t, lists.Sorted(kinds), "OperatorCondition", "Role", "RoleBinding", "WebhookRollout") // those of the OperatorCondition
	letInstall(e, "installer")
	forbidsInstaller(e, "installer", "may not create validatingwebhookconfigurations of admissionregistration.k8s.io in the whole cluster")
	registersNothing(e)
	letRegister(e, "installer")
	e.succeeds("operator.v1")
	same(t, "the condition", conditionIn(e.rollout("operator.v1").Conditions, "InstallerForbidden"), metav1.Condition{})
	m.settles("operator.v1")
	writtenBy(e, m.audited(m.started))
	m.emits("Warning InstallerForbidden")
}

// writtenBy checks as whom the manager has written, or tried to, what the author of an operator decides.
func writtenBy(e *env, requests []auditv1.Event) {
	e.Helper()
	byAccount := []string{"deployments", "services", "secrets", "validatingwebhookconfigurations"}
	seen := map[string]bool{}
	for _, r := range requests {
		if r.ObjectRef == nil || slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			continue
		}
		as := r.User.Username
		if r.ImpersonatedUser != nil {
			as = r.ImpersonatedUser.Username
		}
		decided := slices.Contains(byAccount, r.ObjectRef.Resource) ||
			slices.Contains([]string{"roles", "rolebindings"}, r.ObjectRef.Resource) && r.ObjectRef.Name != "operator.v1" // of its OperatorCondition
		want := "manager"
		if decided {
			want, seen[r.ObjectRef.Resource] = "installer", true
		}
		if as != userOf(e, want) {
			e.Errorf("%s %s %s was sent as %s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name, as)
		}
		if !decided && r.ResponseStatus != nil && r.ResponseStatus.Code == 403 {
			e.Errorf("forbidden: %s %s: %s", r.Verb, r.RequestURI, r.ResponseStatus.Message)
		}
	}
	same(e, "the number of kinds that were written as the account", len(seen), len(byAccount)+2)
}

// Without its permissions, the account changes nothing any more. The manager still maintains the trust in the operator's
// certificate, and uninstalls the operator.
func TestInstallerLosesItsPermissions(t *testing.T) {
	e := newParallelEnv(t)
	granted := installsAsAccount(e)
	m := manageThrough(e, granted, withOLM)
	e.install(csv("operator.v1", "server"))
	trusted := e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle
	kube.Patch(e, e.kube.RbacV1().ClusterRoles(), "register-"+e.namespace, types.MergePatchType, []byte(`{"rules": []}`))
	awaitDenied(e, userOf(e, "installer"), authorizationv1.ResourceAttributes{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Verb: "update"})

	configurations := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	name := e.registration("v.example.com").Name
	kube.Patch(e, configurations, name, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]`))
	e.eventually("the manager restores the caBundle", func() (bool, any) {
		bundle := e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle
		return slices.Equal(bundle, trusted), string(bundle)
	})
	kube.Patch(e, configurations, name, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/webhooks/0/rules/0/resources/0", "value": "others"}]`))
	e.eventually("the WebhookRollout reports the permission", func() (bool, any) {
		reported := conditionIn(e.rollout("operator.v1").Conditions, "InstallerForbidden").Message
		return strings.Contains(reported, "validatingwebhookconfigurations of admissionregistration.k8s.io in the whole cluster"), reported
	})
	same(t, "the resource of the rule", e.registration("v.example.com").Webhooks[0].Rules[0].Resources[0], "others")
	m.stop()
	manageThrough(e, granted, withOLM)
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// awaitDenied waits until the API server's authorizer knows that a permission was revoked.
func awaitDenied(e *env, user string, request authorizationv1.ResourceAttributes) {
	e.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &request}}
	e.eventually(user+" may not "+request.Verb+" "+request.Resource+" any more", func() (bool, any) {
		answer := kube.Create(e, e.kube.AuthorizationV1().SubjectAccessReviews(), review)
		return !answer.Status.Allowed, answer.Status
	})
}

func useImage(e *env, image string) {
	e.Helper()
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image = image
	})
}

func imageOf(e *env) string {
	e.Helper()
	return kube.Get(e, e.kube.AppsV1().Deployments(e.namespace), "server").Spec.Template.Spec.Containers[0].Image
}

// A rotation needs no permission of the account, also while an edit of the operator waits for one.
func TestRotationWithoutThePermissionsOfTheInstaller(t *testing.T) {
	e := newParallelEnv(t)
	granted := installsAsAccount(e)
	manageThrough(e, granted, withOLM)
	e.install(csv("operator.v1", "server"))
	mayNot(e)
	useImage(e, "example.com/server:2")
	forbidsInstaller(e, "installer", "may not ")
	first := e.servingCA()
	e.order("once")
	rotates(e, 2)
	same(t, "the registration trusts the previous CA", bytes.Equal(e.servingCA(), first), false)
	same(t, "the image", imageOf(e), "example.com/server:1")
	letInstall(e, "installer")
	e.succeeds("operator.v1")
	same(t, "the image", imageOf(e), "example.com/server:2")
}

// An upgrade needs the account. The uninstallation does not.
func TestUpgradeByAServiceAccount(t *testing.T) {
	e := newParallelEnv(t)
	granted := installsAsAccount(e)
	m := manageThrough(e, granted, withOLM)
	e.install(csv("operator.v1", "server"))
	e.create(replacing("operator.v1", csv("operator.v2", "server")))
	e.succeeds("operator.v2")
	e.eventually("the previous version is deleted", func() (bool, any) {
		_, err := e.olm.ClusterServiceVersions(e.namespace).Get(e.ctx, "operator.v1", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
	m.settles("operator.v2")
	for _, r := range m.audited(m.started) {
		if r.ObjectRef != nil && r.ObjectRef.Resource == "deployments" && slices.Contains([]string{"create", "update", "patch"}, r.Verb) && r.ImpersonatedUser == nil {
			t.Errorf("%s %s was not sent as the account", r.Verb, r.RequestURI)
		}
	}
	noneIsForbidden(e, m.audited(m.started))
	mayNot(e)
	e.uninstall("operator.v2")
	registersNothing(e)
}

// A change of the account, or of its group, applies to the next write. Nothing is written for it before.
func TestAnotherInstaller(t *testing.T) {
	e := newParallelEnv(t)
	granted := installsAsAccount(e)
	manageThrough(e, granted, withOLM)
	e.install(csv("operator.v1", "server"))
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("other")})
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.ServiceAccountName = "other" })
	useImage(e, "example.com/server:2")
	forbidsInstaller(e, "other", "may not ")
	e.must(e.kube.CoreV1().ServiceAccounts(e.namespace).Delete(e.ctx, "other", metav1.DeleteOptions{}))
	forbidsInstaller(e, "other", "does not exist")
	e.eventually("the group has no account", func() (bool, any) {
		s := groupStatus(e, "og")
		return s.ServiceAccountRef == nil && conditionIn(s.Conditions, operatorsv1.OperatorGroupServiceAccountCondition).Type != "", s
	})
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.ServiceAccountName = "" })
	e.succeeds("operator.v1")
	same(t, "the condition", conditionIn(e.rollout("operator.v1").Conditions, "InstallerForbidden"), metav1.Condition{})
	same(t, "the image", imageOf(e), "example.com/server:2")
}

// Without --with-olm, the manager does not act as the account, and writes nothing with its own permissions instead.
func TestInstallationByAServiceAccountWithoutOLM(t *testing.T) {
	e := newParallelEnv(t)
	operating(e, operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{e.namespace}, ServiceAccountName: "installer"})
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("installer")})
	m := e.manage()
	e.create(csv("operator.v1", "server"))
	forbidsInstaller(e, "installer", "is used with --with-olm only: apply manifests/with-olm, or remove spec.serviceAccountName")
	kinds := lists.Map(e.owned(derived), func(o unstructured.Unstructured) string { return o.GetKind() })
	expect(t, lists.Sorted(kinds), "OperatorCondition", "Role", "RoleBinding", "WebhookRollout") // those of the OperatorCondition
	for _, r := range m.audited(m.started) {
		if r.ImpersonatedUser != nil {
			t.Errorf("%s %s was sent as %s", r.Verb, r.RequestURI, r.ImpersonatedUser.Username)
		}
	}
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.ServiceAccountName = "" })
	e.succeeds("operator.v1")
}
