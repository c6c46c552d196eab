package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	managerUser        = "system:serviceaccount:olm-webhook-manager:olm-webhook-manager"
	managerClusterRole = "olm-webhook-manager"
)

type permission struct{ group, resource, verb string }

func (p permission) String() string {
	return fmt.Sprintf("%s %s of the group %q", p.verb, p.resource, p.group)
}

// notAlways are the permissions that a run of the end-to-end tests may do without, by the reason why the manager
// has them all the same, as resources of one API group and verbs.
var notAlways = map[string][]string{
	"informers list what they watch where the API server does not stream it": {
		" configmaps,namespaces,pods,secrets,serviceaccounts,services list",
		"admissionregistration.k8s.io mutatingwebhookconfigurations,validatingwebhookconfigurations list",
		"apiextensions.k8s.io customresourcedefinitions list",
		"apiregistration.k8s.io apiservices list",
		"apps deployments list",
		"cert-manager.io certificates,clusterissuers,issuers list",
		"discovery.k8s.io endpointslices list",
		"olm-webhook-manager.io webhookrollouts list",
		"operators.coreos.com clusterserviceversions,operatorconditions,operatorgroups,subscriptions list",
		"rbac.authorization.k8s.io clusterrolebindings,clusterroles,rolebindings,roles list",
	},
	"whose an object is whose name was taken already": {
		" secrets,services get",
		"admissionregistration.k8s.io mutatingwebhookconfigurations,validatingwebhookconfigurations get",
		"apiregistration.k8s.io apiservices get",
		"apps deployments get",
		"olm-webhook-manager.io webhookrollouts get",
		"policy poddisruptionbudgets get",
		"rbac.authorization.k8s.io clusterrolebindings,rolebindings,roles get",
	},
	"repairs of what another client changed: TestRepair of test/integration": {
		" services update",
		"admissionregistration.k8s.io mutatingwebhookconfigurations,validatingwebhookconfigurations patch,update",
		"apiregistration.k8s.io apiservices patch,update",
		"rbac.authorization.k8s.io clusterrolebindings,rolebindings,roles patch,update",
	},
	"operators are granted them, and no client may grant what they do not have": {
		"operators.coreos.com operatorconditions get,update",
		"operators.coreos.com operatorconditions/status get,patch,update",
	},
	"service-ca, which runs on OpenShift alone: TestServiceCAReissues of test/integration": {
		" configmaps create,delete,patch,watch",
	},
	"operators whose annotations name a PriorityClass: TestScheduling of test/integration": {
		"scheduling.k8s.io priorityclasses get",
	},
	"the CA that is made where no issuer of cert-manager is named: TestCertManagerIssues of test/integration": {
		"cert-manager.io issuers create,delete,patch",
		"cert-manager.io certificates create",
	},
}

func excepted() map[permission]bool {
	all := map[permission]bool{}
	for _, permissions := range notAlways {
		for _, text := range permissions {
			parts := strings.Split(text, " ")
			for _, resource := range strings.Split(parts[1], ",") {
				for _, verb := range strings.Split(parts[2], ",") {
					all[permission{parts[0], resource, verb}] = true
				}
			}
		}
	}
	return all
}

// checkPermissions fails when the manager may do what no request of these tests needed. It is for a run
// of all tests: one test alone does not use everything.
func checkPermissions(ctx context.Context) error {
	log := kube.ClusterAuditLog()
	if !log.Available() || flag.Lookup("test.run").Value.String() != "" {
		return nil
	}
	role, err := kubeClient.RbacV1().ClusterRoles().Get(ctx, managerClusterRole, metav1.GetOptions{})
	if err != nil {
		return err
	}
	events, err := log.Since(0)
	if err != nil {
		return err
	}
	used, excepted := requested(events), excepted()
	var unused []string
	own, err := kubeClient.RbacV1().Roles(managerNamespace).Get(ctx, managerClusterRole, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, p := range granted(slices.Concat(role.Rules, own.Rules)) {
		if !used[p] && !excepted[p] {
			unused = append(unused, p.String())
		}
	}
	if len(unused) > 0 {
		return fmt.Errorf("manifests/manager allows the manager what no request of these tests needed: remove it, or add a test that needs it:\n%s", strings.Join(unused, "\n"))
	}
	return nil
}

// granted are the permissions of rules that a request can be matched with: wildcards stand for resources
// that no client can list here, and the API server asks for bind and escalate itself, while it answers another verb.
func granted(rules []rbacv1.PolicyRule) (all []permission) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if resource != "*" && verb != "bind" && verb != "escalate" {
						all = append(all, permission{group, resource, verb})
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b permission) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb))
	})
	return all
}

func requested(events []auditv1.Event) map[permission]bool {
	used := map[permission]bool{}
	for _, event := range events {
		if event.User.Username != managerUser || event.ObjectRef == nil {
			continue
		}
		resource := event.ObjectRef.Resource
		if sub := event.ObjectRef.Subresource; sub != "" {
			resource += "/" + sub
		}
		used[permission{event.ObjectRef.APIGroup, resource, event.Verb}] = true
	}
	return used
}

const userAgent = "olm-webhook-manager/"
