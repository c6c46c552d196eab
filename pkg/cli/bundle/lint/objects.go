package lint

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
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
		find: func(s *subject) {
			for _, r := range s.Refusals(nil) {
				s.report(r.Object, r.Path, "bundle install refuses the object: "+r.What, r.Remedy)
			}
		},
	},
	{
		Code: "repeated-object", Level: Error, Basis: Refused,
		Explain: `Two objects have the same kind and name. An installation creates all
objects of a bundle in one namespace, so one would overwrite the other: namespaces in the files do
not make them different. bundle install, bundle render and bundle show refuse the bundle. OLM v0
applies both, and the last one remains. Remove one, or rename it.`,
		find: func(s *subject) {
			for o, first := range s.Repeated() {
				if o != s.CSVObject && first != s.CSVObject {
					s.report(o, "metadata.name", fmt.Sprintf("bundle install refuses the bundle: %s also has an object %s with the name %q, and all objects are created in one namespace", first.File, groupkind.Of(o), o.GetName()),
						"remove one, or rename it")
				}
			}
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

func grantsToOthers(s *subject) {
	accounts, namespace := maps.Clone(s.accounts), s.SuggestedNamespace()
	for _, d := range s.deployments {
		accounts[csvspec.ServiceAccountOf(d.Spec.Template.Spec)] = &corev1.ServiceAccount{}
	}
	// An installation writes its own namespace where a subject has none.
	own := func(subject rbacv1.Subject) bool {
		return subject.Kind == rbacv1.ServiceAccountKind && accounts[subject.Name] != nil && cmp.Or(subject.Namespace, namespace) == namespace
	}
	for o, object := range bundle.Each[metav1.Object](s.Bundle) {
		ref, subjects := permissions.Bound(object)
		for i, subject := range subjects {
			if own(subject) {
				continue
			}
			name := strings.TrimPrefix(subject.Namespace+"/"+subject.Name, "/")
			what := fmt.Sprintf("%s %s gets the permissions of %s %s, and is no account of the operator", subject.Kind, name, ref.Kind, ref.Name)
			remedy := "remove the subject, or let an administrator bind the role"
			if subject.Kind == rbacv1.ServiceAccountKind && accounts[subject.Name] != nil {
				what += ", which is in namespace " + namespace
				remedy = fmt.Sprintf("name namespace %s, or request the permissions in spec.install.spec.clusterPermissions", namespace)
			}
			s.report(o, fmt.Sprintf("subjects[%d]", i), what, remedy)
		}
	}
}

func grantsEverything(s *subject) {
	for o, object := range bundle.Each[metav1.Object](s.Bundle) {
		if ref, _ := permissions.Bound(object); ref.Kind == "ClusterRole" && ref.Name == "cluster-admin" {
			s.report(o, "roleRef", "the subjects become administrators: the role is cluster-admin", "bind a role with the permissions that are used")
		}
		s.everythingIn(o, "", permissions.RulesOf(object))
	}
	for i, p := range s.CSV.Spec.InstallStrategy.StrategySpec.Permissions {
		s.everythingIn(s.CSVObject, fmt.Sprintf("spec.install.spec.permissions[%d].", i), p.Rules)
	}
	for i, p := range s.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		s.everythingIn(s.CSVObject, fmt.Sprintf("spec.install.spec.clusterPermissions[%d].", i), p.Rules)
	}
}

func (s *subject) everythingIn(o *bundle.Object, path string, rules []rbacv1.PolicyRule) {
	for i, rule := range rules {
		if why := show.Administers(rule); why != "" {
			s.report(o, fmt.Sprintf("%srules[%d]", path, i), why, "name the groups, resources and verbs that are used")
		}
	}
}
