package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// exposureChecks report what an operator may need, and what an administrator has to know before the installation.
// bundle show judges the same fields by the same functions.
var exposureChecks = []Check{
	{
		Code: "host-access", Level: Warning, Basis: Policy,
		Explain: `The pods get access to their node, or lose isolation from it: everything that
the Pod Security Standard "baseline" forbids (privileged, hostPID, hostNetwork, hostPath and more),
and every capability that is added. A client that controls such a pod may control the node and the
other pods on it. An operator of nodes, networks or storage needs some of it. Remove what yours does
not need. Waive this finding for the rest, with the reason, and document it for administrators.`,
		find: eachDeployment(hostAccess),
	},
	{
		Code: "privileged-namespace", Level: Warning, Basis: Policy,
		Explain: `The suggested namespace has the label
pod-security.kubernetes.io/enforce=privileged. Pod Security admits every pod there. Every client
that may create pods in the namespace may then control nodes. Suggest restricted or baseline. If
pods of the operator need more, waive this finding with the reason, for administrators.`,
		find: privilegedNamespace,
	},
	{
		Code: "token-secret", Level: Warning, Basis: Policy,
		Explain: `Kubernetes writes a token into a Secret of type
kubernetes.io/service-account-token. It is valid as long as the Secret exists. The account is the
one that an annotation of the Secret names. Here it is no account of the bundle: each client that
reads the Secret has the permissions of another operator. A Secret of type
bootstrap.kubernetes.io/token in kube-system lets clients add nodes to the cluster. Remove the
Secret, or name an account of the bundle.`,
		find: tokenSecrets,
	},
	{
		Code: "exposed-service", Level: Warning, Basis: Policy,
		Explain: `The Service has externalIPs, or a type other than ClusterIP. With
externalIPs, each node sends the traffic to these addresses to the Service, also traffic that is for
another server, such as DNS. LoadBalancer and NodePort expose the pods outside of the cluster.
ExternalName sends clients to a server outside of the cluster. Let administrators create such a
Service.`,
		find: exposedServices,
	},
	{
		Code: "aggregated-role", Level: Warning, Basis: Policy,
		Explain: `The ClusterRole has a label rbac.authorization.k8s.io/aggregate-to-NAME. So
Kubernetes adds its rules to the ClusterRole NAME (view, edit or admin). Each account with that role
gets permissions that are not for it, such as to read Secrets, or by which it may become an
administrator. Aggregate only the rules for resources of the operator's own API groups.`,
		find: aggregatedRoles,
	},
	{
		Code: "unbound-role", Level: Warning, Basis: Policy,
		Explain: `The role has permissions by which an account may become an administrator, or
read Secrets. No binding of the bundle grants it. An existing binding may refer to it by its name,
and an existing ClusterRole may aggregate it by its labels. Then other accounts get the permissions.
Bind the role to the operator's ServiceAccount, remove it, or leave out these rules. Rules for
the operator's own API groups are not reported.`,
		find: unboundRoles,
	},
}

// hostAccess reads the pods as they are written, with the annotations of the ClusterServiceVersion.
func hostAccess(s *subject, d deployment, report reporter) {
	access := show.HostAccess(show.Pods(render.Input{CSV: s.CSV, Scope: scope.Scope{Group: &operatorsv1.OperatorGroup{}}}, d.StrategyDeploymentSpec))
	if len(access) > 0 {
		report("spec.template.spec", fmt.Sprintf("the pods of %s get access to their node, or additional capabilities: %s", d.Name, strings.Join(access, ", ")),
			"remove what the operator does not need; waive the finding for the rest, and document it for administrators")
	}
}

func privilegedNamespace(s *subject) {
	template, _, err := s.NamespaceTemplate()
	if err == nil && template != nil && template.Labels[api.EnforceLevelLabel] == string(api.LevelPrivileged) {
		s.reportCSV(annotation(bundle.NamespaceTemplateAnnotation),
			fmt.Sprintf("Pod Security admits every pod in namespace %s: label %s=%s", s.SuggestedNamespace(), api.EnforceLevelLabel, api.LevelPrivileged),
			"suggest restricted or baseline; if the operator's pods need more, waive the finding, and document it for administrators")
	}
}

func tokenSecrets(s *subject) {
	for o, secret := range bundle.Each[*corev1.Secret](s.Bundle) {
		ofOthers := secret.Type == corev1.SecretTypeServiceAccountToken && s.accounts[secret.Annotations[corev1.ServiceAccountNameKey]] == nil
		if !ofOthers && secret.Type != corev1.SecretTypeBootstrapToken {
			continue
		}
		installed := o.DeepCopy()
		installed.SetNamespace(s.SuggestedNamespace())
		s.report(o, "type",
			fmt.Sprintf("the Secret %s gives the permissions of others to its readers: %s", o.GetName(), strings.Join(show.Details(installed), ", ")),
			"remove the Secret, or name an account of the bundle")
	}
}

func exposedServices(s *subject) {
	for _, o := range s.Objects {
		if traffic := show.Details(o.Unstructured); groupkind.Is(o, groupkind.Service) && len(traffic) > 0 {
			s.report(o, "spec",
				fmt.Sprintf("the Service %s takes traffic from outside of the cluster's network, or sends it there: %s", o.GetName(), strings.Join(traffic, ", ")),
				"use a Service of type ClusterIP without externalIPs, and let administrators expose it")
		}
	}
}

func aggregatedRoles(s *subject) {
	for o, role := range bundle.Each[*rbacv1.ClusterRole](s.Bundle) {
		if to := brief(strings.Join(show.AggregatedTo(role.Labels), " or ")); to != "" {
			s.eachEscalation(role, func(path string, rule rbacv1.PolicyRule) {
				s.report(o, path, fmt.Sprintf("every account with the ClusterRole %s gets %s", to, ruleText(rule)), "remove the rule or the label")
			})
		}
	}
}

func unboundRoles(s *subject) {
	bound := map[string]bool{}
	for _, object := range bundle.Each[metav1.Object](s.Bundle) {
		ref, _ := permissions.Bound(object)
		bound[ref.Kind+"/"+ref.Name] = true
	}
	for o, object := range bundle.Each[metav1.Object](s.Bundle) {
		if bound[o.GetKind()+"/"+o.GetName()] || len(show.AggregatedTo(o.GetLabels())) > 0 {
			continue
		}
		name := brief(o.GetName())
		s.eachEscalation(object, func(path string, rule rbacv1.PolicyRule) {
			s.report(o, path,
				fmt.Sprintf("no binding of the bundle grants the %s %s; an existing binding or aggregation may give other accounts %s", o.GetKind(), name, ruleText(rule)),
				"bind the role to the operator's ServiceAccount, or remove the rule")
		})
	}
}

// eachEscalation leaves out rules for the API groups of the bundle's own definitions. Those of Kubernetes are never its own.
func (s *subject) eachEscalation(role metav1.Object, do func(path string, rule rbacv1.PolicyRule)) {
	for i, rule := range permissions.RulesOf(role) {
		foreign := slices.ContainsFunc(rule.APIGroups, func(group string) bool { return !s.ownGroups[group] })
		if show.Escalates(rule) && foreign {
			do(fmt.Sprintf("rules[%d]", i), rule)
		}
	}
}

func ruleText(rule rbacv1.PolicyRule) string {
	return brief(strings.Join(rule.Verbs, ", ")) + " on " + brief(strings.Join(rule.Resources, ", "))
}

// brief limits a text that a finding of each rule repeats.
func brief(text string) string { return shortened(text, 200, "…") }

func shortened(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + mark
}
