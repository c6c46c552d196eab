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

// systemNamespaces are the namespaces that a cluster needs. The bundle's
// objectSelector spares the API server the call for them.
var systemNamespaces = []string{
	metav1.NamespaceSystem,
	metav1.NamespacePublic,
	corev1.NamespaceNodeLease,
	metav1.NamespaceDefault,
}

// judge decides whether a namespace is admitted. The policies apply to all users,
// including system:masters: an administrator who needs an exception writes it
// into the policy, where others can read it.
type judge struct {
	exempt  sets.Set[string]
	ruleset func() *ruleset
}

// newJudge exempts the system namespaces and the server's own one, so that no
// policy can shut out what would be needed to change it.
func newJudge(ownNamespace string, current func() *ruleset) *judge {
	return &judge{
		exempt:  sets.New(systemNamespaces...).Insert(ownNamespace),
		ruleset: current,
	}
}

// Review judges one request by the metadata, which is all that policies speak
// about. A namespace being deleted passes, as its finalizers have to be
// removed, and so does a change that breaks no rule that was not broken before.
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
		// Well below the 256 characters that the API server passes on.
		r.Warn("ProjectPolicy %.120q is not enforced: a pattern of it is invalid, see its condition %s", name, policy.ConditionValid)
	}
	violations := policy.Introduced(before, rules.check(r.Object))
	if len(violations) == 0 {
		return nil
	}
	explained := policy.Explain(r.Object.Name, violations)
	klog.Infof("Denied %s by %s: %s", r.Operation, r.UserInfo.Username, explained)
	return hosting.Deny("%s", explained)
}

// check holds a namespace against the policies in force.
func (r *ruleset) check(namespace *metav1.PartialObjectMetadata) []policy.Violation {
	return policy.Check(policy.Namespace{Name: namespace.Name, Labels: namespace.Labels}, r.inForce)
}
