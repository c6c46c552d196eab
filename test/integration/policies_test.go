package integration

import (
	"context"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// addMutatingPolicy creates a MutatingAdmissionPolicy and its binding. remove deletes both, and so does the end of the test.
func addMutatingPolicy(e *env, name string, spec admissionregistrationv1.MutatingAdmissionPolicySpec) (remove func()) {
	e.Helper()
	spec.FailurePolicy, spec.ReinvocationPolicy = new(admissionregistrationv1.Fail), admissionregistrationv1.NeverReinvocationPolicy
	policies, bindings := e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	remove = deleteOnce(e, name, bindings, policies)
	kube.Create(e, policies, &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec})
	kube.Create(e, bindings, &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: named(name),
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}})
	return remove
}

// addValidatingPolicy creates a ValidatingAdmissionPolicy that denies, and its binding, and deletes them likewise.
func addValidatingPolicy(e *env, name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) (remove func()) {
	e.Helper()
	policies, bindings := e.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	remove = deleteOnce(e, name, bindings, policies)
	kube.Create(e, policies, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: spec})
	kube.Create(e, bindings, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named(name), Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}})
	return remove
}

func deleteOnce(e *env, name string, clients ...interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}) (remove func()) {
	remove = sync.OnceFunc(func() {
		for _, client := range clients {
			if err := client.Delete(context.WithoutCancel(e.ctx), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				e.Error(err)
			}
		}
	})
	e.Cleanup(remove)
	return remove
}

func jsonPatch(expression string) []admissionregistrationv1.Mutation {
	return []admissionregistrationv1.Mutation{{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression}}}
}

func matching(operations []admissionregistrationv1.OperationType, groups []string, resources ...string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: operations, Rule: admissionregistrationv1.Rule{APIGroups: groups, APIVersions: []string{"*"}, Resources: resources},
		},
	}}}
}
