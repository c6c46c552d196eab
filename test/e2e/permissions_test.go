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
)

const (
	managerUser        = "system:serviceaccount:olm-webhook-manager:olm-webhook-manager"
	managerClusterRole = "olm-webhook-manager"
)

// permission is one verb on one kind of resource.
type permission struct{ group, resource, verb string }

func (p permission) String() string {
	return fmt.Sprintf("%s %s of the group %q", p.verb, p.resource, p.group)
}

// notRequested are the permissions that no request of the end-to-end tests needs, each with its reason.
var notRequested = map[permission]string{}

// checkPermissions fails when the manager may do what no request of these tests needed. It is for a run
// of all tests: one test alone does not use everything.
func checkPermissions(ctx context.Context) error {
	log := auditLog()
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
	used := requested(events)
	var problems []string
	for _, p := range granted(role) {
		switch reason := notRequested[p]; {
		case !used[p] && reason == "":
			problems = append(problems, fmt.Sprintf("the ClusterRole %s allows to %s, and no request needed it: remove it from manifests/manager/clusterrole.yaml, or add a test that needs it", role.Name, p))
		case used[p] && reason != "":
			problems = append(problems, fmt.Sprintf("%s was requested: remove it from notRequested", p))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("permissions of the manager:\n%s", strings.Join(problems, "\n"))
	}
	return nil
}

// granted are the permissions of a ClusterRole that a request can be matched with: wildcards stand for resources
// that nobody can list here, and the API server asks for bind and escalate itself, while it answers another verb.
func granted(role *rbacv1.ClusterRole) (all []permission) {
	for _, rule := range role.Rules {
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

// requested are the permissions that the manager's requests needed.
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
