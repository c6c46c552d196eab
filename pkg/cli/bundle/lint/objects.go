package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

var objectChecks = []Check{
	{
		Code: "refused-object", Level: Error, Basis: Refused,
		Explain: `bundle install and bundle render refuse the object. A bundle may have
objects of the kinds that OLM supports. With --allow-kind=Kind.group, an administrator allows
another kind. No flag allows OperatorGroup, Subscription and Namespace, which the installation
creates itself, and webhook configurations with a forbidden rule (see forbidden-rule), which would
block the cluster. Objects that grant permissions or intercept requests need version v1 of their
API: other versions are not shown before the installation.`,
		find: func(s *subject) []mistake {
			var all []mistake
			for _, r := range s.Refusals(nil) {
				all = append(all, mistake{object: r.Object, path: r.Path, what: "bundle install refuses the object: " + r.What, remedy: r.Remedy})
			}
			return all
		},
	},
	{
		Code: "grants-to-others", Level: Warning, Basis: Policy,
		Explain: `The bundle binds a role to users, to groups, or to a ServiceAccount of
another operator. A ServiceAccount is the operator's own only in the namespace that the bundle
suggests. In another namespace it is another account, even with the same name. The group
system:authenticated gives the role to every account of the cluster, and system:unauthenticated to
every client that reaches the API server. Request the operator's own permissions in
spec.install.spec.permissions and clusterPermissions, or bind roles to its ServiceAccount in the
suggested namespace. Let administrators bind other subjects.`,
		find: grantsToOthers,
	},
	{
		Code: "grants-everything", Level: Warning, Basis: Policy,
		Explain: `The permissions make the account an administrator of the cluster: the role
is cluster-admin, or a rule allows every verb on every resource, or the verbs escalate, bind or
impersonate. The verb * includes escalate and bind on roles and clusterroles, and impersonate on
users, groups and serviceaccounts. The rules of spec.install.spec.permissions count as well: an
operator that watches all namespaces has them in the whole cluster, any other operator in each
watched namespace. A client that controls the operator's pods, or reads its token, controls the
cluster, or these namespaces. Name the groups, resources and verbs that the operator uses.`,
		find: grantsEverything,
	},
}

func (s *subject) eachBinding(check func(o *bundle.Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject)) {
	for _, o := range s.Objects {
		switch b := o.Typed.(type) {
		case *rbacv1.ClusterRoleBinding:
			check(o, b.RoleRef, b.Subjects)
		case *rbacv1.RoleBinding:
			check(o, b.RoleRef, b.Subjects)
		}
	}
}

func grantsToOthers(s *subject) []mistake {
	accounts, namespace := accountsOf(s.Bundle), s.SuggestedNamespace()
	for _, d := range s.deployments() {
		pod := d.Spec.Template.Spec
		accounts[cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")] = &corev1.ServiceAccount{}
	}
	// An installation writes its own namespace where a subject has none.
	own := func(subject rbacv1.Subject) bool {
		return subject.Kind == rbacv1.ServiceAccountKind && accounts[subject.Name] != nil && cmp.Or(subject.Namespace, namespace) == namespace
	}
	var all []mistake
	s.eachBinding(func(o *bundle.Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		for i, subject := range subjects {
			if own(subject) {
				continue
			}
			name := strings.TrimPrefix(subject.Namespace+"/"+subject.Name, "/")
			m := mistake{
				object: o, path: fmt.Sprintf("subjects[%d]", i),
				what:   fmt.Sprintf("%s %s gets the permissions of %s %s, and is no account of the operator", subject.Kind, name, ref.Kind, ref.Name),
				remedy: "remove the subject, or let an administrator bind the role",
			}
			if subject.Kind == rbacv1.ServiceAccountKind && accounts[subject.Name] != nil {
				m.what += ", which is in namespace " + namespace
				m.remedy = fmt.Sprintf("name namespace %s, or request the permissions in spec.install.spec.clusterPermissions", namespace)
			}
			all = append(all, m)
		}
	})
	return all
}

func grantsEverything(s *subject) []mistake {
	var all []mistake
	s.eachBinding(func(o *bundle.Object, ref rbacv1.RoleRef, _ []rbacv1.Subject) {
		if ref.Kind == "ClusterRole" && ref.Name == "cluster-admin" {
			all = append(all, mistake{object: o, path: "roleRef", what: "the subjects become administrators: the role is cluster-admin", remedy: "bind a role with the permissions that are used"})
		}
	})
	for _, o := range s.Objects {
		object, _ := o.Typed.(metav1.Object)
		for i, rule := range permissions.RulesOf(object) {
			if why := show.Administers(rule); why != "" {
				all = append(all, mistake{object: o, path: fmt.Sprintf("rules[%d]", i), what: why, remedy: "name the groups, resources and verbs that are used"})
			}
		}
	}
	strategy := s.CSV.Spec.InstallStrategy.StrategySpec
	return slices.Concat(all, s.everythingIn("permissions", strategy.Permissions), s.everythingIn("clusterPermissions", strategy.ClusterPermissions))
}

func (s *subject) everythingIn(field string, permissions []operatorsv1alpha1.StrategyDeploymentPermissions) []mistake {
	var all []mistake
	for i, p := range permissions {
		for j, rule := range p.Rules {
			if why := show.Administers(rule); why != "" {
				all = append(all, s.inCSV(fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", field, i, j), why, "name the groups, resources and verbs that are used"))
			}
		}
	}
	return all
}
