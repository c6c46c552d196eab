package main

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// systemNamespaces are needed by every cluster. The bundle's objectSelector excludes them.
var systemNamespaces = []string{
	metav1.NamespaceSystem,
	metav1.NamespacePublic,
	corev1.NamespaceNodeLease,
	metav1.NamespaceDefault,
}

// judge applies the policies to all users, including system:masters: exceptions belong into the policy.
type judge struct {
	exempt  sets.Set[string]
	ruleset func() *ruleset
}

// newJudge exempts what is needed to change a policy: system namespaces, and the server's own.
func newJudge(ownNamespace string, current func() *ruleset) *judge {
	return &judge{
		exempt:  sets.New(systemNamespaces...).Insert(ownNamespace),
		ruleset: current,
	}
}

// Review decides by the metadata. It allows changes of a namespace that is being deleted, because
// its finalizers must be removed, and changes that break no further rule.
func (j *judge) Review(_ context.Context, r hosting.Request[*metav1.PartialObjectMetadata]) error {
	if j.exempt.Has(r.Object.Name) {
		return nil
	}
	rules := j.ruleset()
	var before []policy.Violation
	if r.Operation == admissionv1.Update {
		if r.OldObject.DeletionTimestamp != nil {
			return nil
		}
		before = rules.check(r.OldObject)
	}
	for _, name := range rules.broken {
		// API servers show 256 characters at most.
		r.Warn("ProjectPolicy %.120q is not enforced: a pattern of it is invalid, see its condition %s", name, policy.ConditionValid)
	}
	violations := policy.Introduced(before, rules.check(r.Object))
	if len(violations) == 0 {
		return nil
	}
	explained := policy.Explain(r.Object.Name, violations)
	klog.InfoS("Denied a request", "operation", r.Operation, "user", r.UserInfo.Username, "reason", explained)
	return hosting.Deny("%s", explained)
}

func (r *ruleset) check(namespace *metav1.PartialObjectMetadata) []policy.Violation {
	return policy.Check(policy.Namespace{Name: namespace.Name, Labels: namespace.Labels}, r.inForce)
}
